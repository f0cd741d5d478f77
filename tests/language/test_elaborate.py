"""Surface to core: unrolling, expansion of sugar, folding, scales, domains, adjacency."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.errors import UserError
from dipapprox.language import core
from dipapprox.language.core import (
    Assign,
    Comparison,
    Constant,
    Draw,
    Element,
    Everyone,
    Exit,
    If,
    Listed,
    Norm,
    Product,
    Relation,
    Sum,
    Variable,
    Within,
)  # fmt: skip
from dipapprox.language.equal_turns import written_out
from dipapprox.laws.distribution import Scale
from dipapprox.laws.families import GAUSSIAN
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from tests.language.samples import HEADER, MIN_MAX, NOISY_MAX, SVT, core_of

ONE, ZERO = Constant(Fraction(1)), Constant(Fraction(0))


def test_svt_is_the_example_of_the_specification() -> None:
    # DiPApprox paper, Algorithm 2 (specification section 3.4), with exit.
    program = core_of(SVT, "svt")
    test = [
        If(
            Comparison(Variable("r"), Relation.GREATER_EQUAL, Variable("rT")),
            (Assign(Variable(f"out[{i}]"), ONE), Exit()),
            (),
        )
        for i in (1, 2)
    ]
    four = Scale(Fraction(4), -1)
    assert program.body == (
        Assign(Variable("out[1]"), ZERO),
        Assign(Variable("out[2]"), ZERO),
        Draw(Variable("rT"), GAUSSIAN, ZERO, Scale(Fraction(2), -1), 0),
        Draw(Variable("r"), GAUSSIAN, Variable("q[1]"), four, 1),
        test[0],
        Draw(Variable("r"), GAUSSIAN, Variable("q[2]"), four, 2),
        test[1],
    )
    assert program.name == "svt"
    assert program.parameters == {"N": 2, "T": 0, "Delta": 1}
    assert [cell.name for cell in program.inputs] == ["q[1]", "q[2]"]
    assert program.inputs[0].domain == (Fraction(0), Fraction(1))
    assert program.adjacency == Within(Norm.LINF, Fraction(1))


@pytest.mark.parametrize("n", [1, 3, 50])
def test_parameters_from_outside_replace_the_defaults(n: int) -> None:
    program = core_of(SVT, N=n)
    draws = [s for s in written_out(program.body) if isinstance(s, Draw)]
    assert len(draws) == n + 1
    assert [draw.site for draw in draws] == list(range(n + 1))


def test_an_unknown_parameter_names_the_known_ones() -> None:
    with pytest.raises(UserError, match="no parameter 'M'") as caught:
        core_of(SVT, M=3)
    assert "N, T, Delta" in caught.value.hint


def test_argmax_becomes_the_if_chain_of_the_specification() -> None:
    body = core_of(NOISY_MAX).body[3:]
    best, out = Variable("best#1"), Variable("out")
    chain: list[core.Statement] = [Assign(best, Variable("v[1]")), Assign(out, ONE)]
    for i in (2, 3):
        v = Variable(f"v[{i}]")
        take = (Assign(best, v), Assign(out, Constant(Fraction(i))))
        chain.append(If(Comparison(v, Relation.GREATER, best), take, ()))
    assert body == tuple(chain)


def test_names_of_builtins_are_free_for_variables() -> None:
    program = core_of(MIN_MAX)
    assert program.body[3] == Draw(
        Variable("min"), GAUSSIAN, Variable("q[1]"), Scale(Fraction(8), -1), 0
    )
    assert program.body[4] == Assign(Variable("max"), Variable("min"))
    assert isinstance(program.adjacency, Listed)
    assert len(program.adjacency.pairs) == 2


def test_a_selection_does_not_overwrite_what_it_still_reads() -> None:
    body = core_of(HEADER + "x <- Gauss(0, 1)\ny <- Gauss(0, 1)\ny <- max(x, y)\n").body
    assert [s.target for s in body if isinstance(s, Assign)] == [
        Variable("max#1"),
        Variable("y"),
    ]


@pytest.mark.parametrize(
    ("written", "scale"),
    [
        ("2*2/eps", Scale(Fraction(4), -1)),
        ("4*1/(3*eps)", Scale(Fraction(4, 3), -1)),
        ("1/eps + 1/(2*eps)", Scale(Fraction(3, 2), -1)),
        ("0.1", Scale(Fraction(1, 10), 0)),
        ("1/(eps/3)", Scale(Fraction(3), -1)),
        ("-(-1/eps)", Scale(Fraction(1), -1)),
        ("eps/(eps*eps)", Scale(Fraction(1), -1)),
        ("2*eps", Scale(Fraction(2), 1)),
        ("3^2/(2*eps)^1", Scale(Fraction(9, 2), -1)),
    ],
)
def test_scales_are_monomials_in_eps(written: str, scale: Scale) -> None:
    (draw,) = core_of(HEADER + f"r <- Lap(q[1], {written})").body
    assert isinstance(draw, Draw)
    assert draw.scale == scale


def _condition(text: str) -> core.Condition:
    statement = core_of(HEADER + f"r <- Gauss(0, 1)\nif {text} then skip end").body[-1]
    assert isinstance(statement, If)
    return statement.condition


def test_negation_is_pushed_into_the_comparisons() -> None:
    left = _condition("not (q[1] <= r < q[2] and not r = 1)")
    right = _condition("q[1] > r or r >= q[2] or r = 1")
    assert left == right
    assert _condition("not not r < 1") == _condition("r < 1")


def test_conditions_on_constants_are_decided_and_dead_branches_vanish() -> None:
    text = HEADER + "for i in 1..2 do if i = 1 then out <- 0 else out <- q[i-1] end end"
    assert core_of(text).body == (
        Assign(Variable("out"), ZERO),
        Assign(Variable("out"), Variable("q[1]")),
    )


def test_linear_expressions_are_folded() -> None:
    (_, statement) = core_of(HEADER + "r <- Gauss(0, 1)\ns <- 1 + 2*r/4 - q[1] + 2").body
    assert isinstance(statement, Assign)
    half = Product(Constant(Fraction(1, 2)), Variable("r"))
    minus = Product(Constant(Fraction(-1)), Variable("q[1]"))
    assert statement.value == Sum(Sum(half, minus), Constant(Fraction(3)))


@pytest.mark.parametrize(
    ("operator", "shape"), [("+", Sum), ("*", Product)], ids=["sum", "product"]
)
def test_long_sums_and_products_are_shallow_trees(
    operator: str, shape: type[Sum] | type[Product]
) -> None:
    statement = core_of(HEADER + "s <- q[1]" + f" {operator} q[2]" * 1000).body[-1]
    assert isinstance(statement, Assign)
    depth, node = 0, statement.value
    while isinstance(node, Sum | Product):
        assert isinstance(node, shape)
        depth, node = depth + 1, node.left
    assert depth <= 10


def test_a_condition_can_be_stored() -> None:
    body = core_of(HEADER + "r <- Gauss(0, 1)\nb <- r > 0\nif not b then out <- 0 end").body
    true, false = Constant("true"), Constant("false")
    assert isinstance(body[1], If)
    assert body[1].then == (Assign(Variable("b"), true),)
    assert body[1].otherwise == (Assign(Variable("b"), false),)
    assert isinstance(body[2], If)
    assert body[2].condition == Comparison(Variable("b"), Relation.NOT_EQUAL, true)


def test_an_index_known_only_at_run_time_is_an_element() -> None:
    text = HEADER + "for i in 1..2 do v[i] <- Gauss(q[i], 1) end\nk <- argmax(v)\nout <- q[k]"
    statement = core_of(text).body[-1]
    assert statement == Assign(Variable("out"), Element("q", 2, Variable("k")))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k, m <- 2\nout <- m", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k <- 2\nout <- v[1]", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nk, v[k] <- 2\nout <- v[2]", 2),
        ("b[1] <- q[1] > 5\nk <- 1\nb[k], c <- q[1] < 5\nif b[1] and c then out <- 2 end", 2),
        ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k, m <- max(v)\nout <- m + v[1]", 16),
    ],
)
def test_targets_are_assigned_from_left_to_right(body: str, expected: int) -> None:
    header = "input q[2] in {0, 1}\noutput out in 0..20\nadjacent linf 1\n"
    states = execute(core_of(header + body + "\n"), True, Limits())
    assert states.outputs == ((Fraction(expected),),)


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        ("-1..1", (-1, 0, 1)),
        ("{0, 1/2, 0.1, 0}", (0, Fraction(1, 2), Fraction(1, 10))),
        ("{bot, -1..0, K, top}", ("bot", -1, 0, 7, "top")),
    ],
)
def test_domains(domain: str, values: tuple[object, ...]) -> None:
    program = core_of(f"param K = 7\ninput q in {domain}\noutput out in {{0}}\n")
    assert program.inputs[0].domain == values


@pytest.mark.parametrize(
    ("written", "adjacency"),
    [
        ("", Everyone()),
        ("adjacent all", Everyone()),
        ("adjacent l1 3/2", Within(Norm.L1, Fraction(3, 2))),
        ("adjacent l0 1", Within(Norm.L0, Fraction(1))),
        ("adjacent { 0 ~ 1 }", Listed((((Fraction(0),), (Fraction(1),)),))),
        ("adjacent { 0 ~ 3/2 }", Listed((((Fraction(0),), (Fraction(3, 2),)),))),
        ("adjacent { -3/2 ~ 1 }", Listed((((Fraction(-3, 2),), (Fraction(1),)),))),
    ],
)
def test_adjacency(written: str, adjacency: core.Adjacency) -> None:
    program = core_of(
        f"input q in {{-3/2, 0, 1, 3/2}}\noutput out in {{0, 1}}\n{written}\nout <- 0"
    )
    assert program.adjacency == adjacency


def test_what_mentions_no_loop_variable_is_elaborated_once() -> None:
    program = core_of(SVT, "svt")
    turns = [each for each in program.body if isinstance(each, If)]
    draws = [each for each in program.body if isinstance(each, Draw)][1:]
    assert len(turns) > 1
    assert len({id(each.condition) for each in turns}) == 1
    assert len({id(each.scale) for each in draws}) == 1
    assert len({each.mean for each in draws}) == len(draws)
