"""What programs mean: sugar, ranges, choices among ranges, adjacency by conditions."""

import random
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import product
from math import erf, sqrt
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Answer, Limits, SourceError
from dipapprox.bundled import BUNDLED
from dipapprox.data_classes import replace
from dipapprox.language import core
from dipapprox.language.checker import unused
from dipapprox.language.core import Everyone, Listed, Norm, Within
from dipapprox.language.load import read_source
from dipapprox.language.parser import parse
from dipapprox.pairs.adjacency import count_selected, select_pairs
from dipapprox.pairs.selections import AllPairs, is_symmetric
from dipapprox.semantics.execution import execute
from tests.cases import cases, refuses
from tests.language.samples import core_of
from tests.semantics.interpreter import Noise, run
from tests.texts import text_of

_MODES = {"round": ROUND_HALF_UP, "floor": ROUND_FLOOR, "ceil": ROUND_CEILING}


def nearest(word: str, value: Fraction) -> int:
    """What `decimal` says; its halves go away from zero, so values are moved above it."""
    moved = Decimal((value + 1000).numerator) / Decimal((value + 1000).denominator)
    return int(moved.to_integral_value(_MODES[word])) - 1000


@given(
    word=st.sampled_from(sorted(_MODES)),
    step=st.sampled_from(["1", "2", "1/2", "3/4"]),
    slope=st.sampled_from([1, -1, Fraction(1, 2), Fraction(-3, 4)]),
    point=st.tuples(st.integers(-3, 3), st.integers(-3, 3)),
)
def test_functions_of_inputs(word, step, slope, point) -> None:
    program = core_of(
        "input q[2] in -3..3\noutput a, b, c in real\nadjacent all\n"
        f"a <- {word}(({slope}) * q[1] + q[2], {step})\n"
        f"b <- abs(({slope}) * q[1])\nc <- clamp(q[1] + q[2], -1/2, 2)"
    )
    inputs = tuple(map(Fraction, point))
    value = slope * inputs[0] + inputs[1]
    unit = Fraction(step)
    found = run(_published(program), inputs, Noise(random.Random(0)))
    assert found == (
        nearest(word, value / unit) * unit,
        abs(slope * inputs[0]),
        min(max(sum(inputs), Fraction(-1, 2)), Fraction(2)),
    )


def _published(program: core.Program) -> core.Program:
    """The same, with the outputs where the interpreter reads them."""
    return replace(program, outputs=program.real_outputs)


@given(
    word=st.sampled_from(sorted(_MODES)),
    factor=st.sampled_from(["z/2", "2*z", "(z + w)/3", "z - 1/2"]),
    seed=st.integers(0, 10**6),
)
def test_functions_of_integer_noise(word, factor, seed) -> None:
    program = core_of(
        "input q in 0..1\noutput a, b, c in -9..9\nadjacent all\n"
        f"z <- DLap(q, 1/eps)\nw <- DLap(0, 1/eps)\na <- clamp({word}({factor}), -2, 2)\n"
        "b <- clamp(abs(z - w), 0, 4)\nc <- clamp(max(z, w) + min(z, w), -5, 5)"
    )
    noise = Noise(random.Random(seed))
    found = run(program, (Fraction(1),), noise)
    z, w = (
        noise.value(draw.site, draw.family.name, Fraction(mean), str(draw.scale))
        for draw, mean in zip(program.body[:2], (1, 0), strict=True)
        if isinstance(draw, core.Draw)
    )
    value = {
        "z/2": z / 2, "2*z": 2 * z, "(z + w)/3": (z + w) / 3, "z - 1/2": z - Fraction(1, 2)
    }[factor]  # fmt: skip
    assert found == (
        min(max(nearest(word, value), -2), 2),
        min(abs(z - w), 4),
        min(max(z + w, -5), 5),
    )


def phi(x: float) -> float:
    return (1 + erf(x / sqrt(2))) / 2


def test_pieces_of_published_noise() -> None:
    # The densities of |N(1, 1)| and |N(0, 1)| have the ratio e^(-1/2) cosh x.
    program = dipapprox.parse(
        "input q in 0..1\noutput out in real\nadjacent linf 1\nout <- abs(Gauss(q, 1/eps))"
    )
    found = dipapprox.profile(program, eps=1, eps_prv="1/2")
    cut = 1.65745445315405  # arccosh e
    tail = phi(1 - cut) + phi(-1 - cut) - 2 * sqrt(2.718281828459045) * phi(-cut)
    assert abs(float(found.delta_enclosure) - tail) < 1e-9


def test_choices_among_ranges() -> None:
    header = "input q in 0..2\noutput out in 0..5\nadjacent all\n"
    written = core_of(header + "out <- choose {0 : 1/6, 1 : 2/6, 2 : 3/6}")
    assert core_of(header + "out <- choose {v : (v + 1)/6 for v in 0..2}") == written
    alike = core_of(header + "out <- choose {2 : 1/4, 3 : 1/4, 4 : 1/4, q : 1/4}")
    assert core_of(header + "out <- choose {2..4, q}") == alike
    assert core_of(header + "out <- choose {v + 1 for v in 1..3, q}") == alike
    with_eps = core_of(header + "out <- choose {v : exp(-v*eps)/(1 + exp(-eps)) for v in 0..1}")
    given = "out <- choose {0 : exp(-0*eps)/(1 + exp(-eps)), 1 : exp(-1*eps)/(1 + exp(-eps))}"
    assert with_eps == core_of(header + given)


@dipapprox.mechanism(adjacent="linf 1")
def snapped(
    q: Annotated[dipapprox.Quantity, "in -3..3"], eps: dipapprox.Weight
) -> Annotated[tuple[object, ...], "a in -2..2", "b in 0..3", "c in 0..1"]:
    r = dipapprox.laplace(q, 1 / eps)
    z = dipapprox.discrete_laplace(q, 1 / eps)
    held = dipapprox.clamp(r, 0, 1)
    near = dipapprox.clamp(abs(z), 0, 3)
    c = dipapprox.where(held > Fraction(1, 3), 1, 0)
    return dipapprox.rounded(r / 2, -2, 2, 2), near, c


def test_python_functions_have_them_too() -> None:
    ours = dipapprox.profile(snapped, eps=1, eps_prv="1/2")
    theirs = dipapprox.profile(
        dipapprox.parse(text_of("language/piecewise-13")), eps=1, eps_prv="1/2"
    )
    assert ours.delta_enclosure.meets(theirs.delta_enclosure)


# --- Adjacency by a condition, and by the Euclidean norm ------------------------------------------

Pair = tuple[tuple[int, int], tuple[int, int]]

RULES: dict[str, Callable[[Pair], bool]] = {
    "": lambda p: True,
    "all": lambda p: True,
    "linf 1": lambda p: max(map(abs, change(p))) <= 1,
    "l1 2": lambda p: sum(map(abs, change(p))) <= 2,
    "l2 3/2": lambda p: sum(d * d for d in change(p)) <= 2,
    "l0 1": lambda p: sum(d != 0 for d in change(p)) <= 1,
    "increasing 2": lambda p: all(0 <= d <= 2 for d in change(p)),
    "decreasing 1": lambda p: all(-1 <= d <= 0 for d in change(p)),
}

CONDITIONS: dict[str, Callable[[Pair], bool]] = {
    "q'[i] >= q[i] for i in 1..2": lambda p: min(change(p)) >= 0,
    "q[1] + q[2] = q'[1] + q'[2]": lambda p: sum(change(p)) == 0,
    "q[i] = q'[i] or q[i] = 0 or q'[i] = 0 for i in 1..N": lambda p: all(
        u == v or not u or not v for u, v in zip(*p, strict=True)
    ),
    "not (q[1] < q'[2] and -q[2] <= 2*q'[1] - 3)": lambda p: (
        not (p[0][0] < p[1][1] and -p[0][1] <= 2 * p[1][0] - 3)
    ),
    "q'[1] = 2 or q[1 + q'[1]] = 2": lambda p: p[1][0] == 2 or p[0][p[1][0]] == 2,
    "abs(q[i] - q'[i]) < i and max(q') - q[i] >= min(q[1], 1) for i in 1..N": lambda p: all(
        abs(p[0][i] - p[1][i]) < i + 1 and max(p[1]) - p[0][i] >= min(p[0][0], 1) for i in (0, 1)
    ),
}


def change(pair: Pair) -> list[int]:
    return [v - u for u, v in zip(*pair, strict=True)]


@given(rule=st.sampled_from(sorted(RULES)), condition=st.sampled_from(sorted(CONDITIONS)))
def test_the_pairs_are_those_of_the_rule_and_the_condition(rule, condition) -> None:
    text = (
        f"param N = 2\ninput q[N] in 0..2\noutput out in 0..1\nadjacent {rule} where {condition}\n"
        "out <- Lap(q[1], 1/eps) > 1"
    )
    points = list(product(range(3), repeat=2))
    expected = {
        pair
        for pair in product(points, repeat=2)
        if pair[0] != pair[1] and RULES[rule](pair) and CONDITIONS[condition](pair)
    }
    if not expected:
        refuses(SourceError, "no two different inputs", dipapprox.parse, text)
        return
    program = dipapprox.parse(text)
    found = list(select_pairs(program, AllPairs()))
    assert len(found) == len(set(found)) == count_selected(program, AllPairs())
    assert set(found) == expected
    assert is_symmetric(program, AllPairs()) == all((v, u) in expected for u, v in expected)


def test_adding_and_removing_one_row() -> None:
    found = dipapprox.verify(dipapprox.parse(text_of("language/adjacency_where-3")), eps=1, delta=0)
    assert found.answer is Answer.DP
    where = "row[i] = row'[i] or row[i] = none or row'[i] = none for i in 1..3"
    assert f"adjacent l0 1 where {where}" in found.scope.text
    assert found.pairs == 3 * 9 * 4


def test_one_order_only_is_said_and_checked() -> None:
    text = (
        "input q in 0..1\noutput out in 0..1\nadjacent where q' > q\n"
        "out <- choose {q : 1/2, 0 : 1/2}"
    )
    found = dipapprox.profile(dipapprox.parse(text), eps=1, eps_prv="log(2)")
    assert found.delta_enclosure.upper == 0
    assert "in this order only" in found.run.scope.text
    back = dipapprox.profile(dipapprox.parse(text.replace("q' >", "q' <")), eps=1, eps_prv="log(2)")
    assert back.delta_enclosure.lower > 0


@dipapprox.mechanism(adjacent="l0 1 where q'[i] >= q[i] for i in 1..N")
def risen(
    q: Annotated[list[dipapprox.Quantity], "[N] in 0..2"], eps: dipapprox.Weight, N: int = 2
) -> Annotated[bool, "in bool"]:
    return dipapprox.laplace(sum(q), 2 / eps) > 1


def test_python_functions_have_it_too() -> None:
    assert "where q'[i] >= q[i] for i in 1..2" in risen.text()
    found = dipapprox.verify(risen, eps=1, delta=0)
    assert found.answer is Answer.DP
    assert found.pairs == 2 * 3 * 3


VECTOR = """
input q[{n}] in 0..2
output y[{n}] in real
adjacent l2 {radius}
for i in 1..{n} do y[i] <- Gauss(q[i], {scale} / eps) end
"""
LEAST = Fraction("4.3771780957")
"""The least ε_prv of Gaussian noise at a distance of one standard deviation for δ = 1e-5, as the
analytic Gaussian mechanism has it (Balle and Wang 2018), rounded."""


@pytest.mark.parametrize(("n", "radius", "scale"), [(1, 2, 2), (2, 2, 2), (3, "5/4", 1)])
def test_gaussian_vectors_are_as_private_as_numbers(n, radius, scale) -> None:
    text = VECTOR.format(n=n, radius=radius, scale=scale)
    profile = dipapprox.profile(dipapprox.parse(text), eps=1, delta="1e-5")
    found = profile.eps_prv_enclosure
    assert abs(found.lower - LEAST) < Fraction(1, 10**9)
    assert found.upper - found.lower < Fraction(1, 10**8)


def test_pairs_on_a_square() -> None:
    text = VECTOR.format(n=2, radius="3/2", scale=1)
    adjacency = dipapprox.parse(text).adjacency
    assert len(adjacency.pairs) == 20  # of 9 points on a square: 12 sides and 8 diagonals


# --- Surface to core ------------------------------------------------------------------------------


@cases(
    "body, expected",
    ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k, m <- 2\nout <- m", 2),
    ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k <- 2\nout <- v[1]", 2),
    ("v[1] <- 7\nv[2] <- 8\nk <- 1\nk, v[k] <- 2\nout <- v[2]", 2),
    ("b[1] <- q[1] > 5\nk <- 1\nb[k], c <- q[1] < 5\nif b[1] and c then out <- 2 end", 2),
    ("v[1] <- 7\nv[2] <- 8\nk <- 1\nv[k], k, m <- max(v)\nout <- m + v[1]", 16),
)
def test_targets_are_assigned_from_left_to_right(body, expected) -> None:
    header = "input q[2] in {0, 1}\noutput out in 0..20\nadjacent linf 1\n"
    states = execute(core_of(header + body + "\n"), True, Limits())
    assert states.outputs == ((Fraction(expected),),)


@cases(
    "written, adjacency",
    ("", Everyone()),
    ("adjacent all", Everyone()),
    ("adjacent l1 3/2", Within(Norm.L1, Fraction(3, 2))),
    ("adjacent l0 1", Within(Norm.L0, Fraction(1))),
    ("adjacent { 0 ~ 1 }", Listed((((Fraction(0),), (Fraction(1),)),))),
    ("adjacent { 0 ~ 3/2 }", Listed((((Fraction(0),), (Fraction(3, 2),)),))),
    ("adjacent { -3/2 ~ 1 }", Listed((((Fraction(-3, 2),), (Fraction(1),)),))),
)
def test_adjacency(written, adjacency) -> None:
    program = core_of(
        f"input q in {{-3/2, 0, 1, 3/2}}\noutput out in {{0, 1}}\n{written}\nout <- 0"
    )
    assert program.adjacency == adjacency


HEAD = (
    "param N = 2\nparam T = 0\ninput q[N], h in {0, 1}\noutput out in {0, 1, bot}\nadjacent all\n"
)


@cases(
    "text, warnings",
        ("out <- q[1] + h + T", []),
        ("out <- bot\nif q[1] = h then out <- T end", []),
        (
            "out <- bot\nif q[1] > 0 then out <- 1 end",
            ["the parameter 'T' is not used", "the input 'h' is not used",
             "the output 'out' is never 0"],
        ),
        ("h2 <- T\nq2 <- h\nout <- q2", ["the input 'q' is not used"]),
        ("for i in 1..T do out <- h end\nout <- q[1]", []),
        ("x <- q[h]\nout <- T\nout <- 0", []),
)  # fmt: skip
def test_warnings(text, warnings) -> None:
    found = unused(parse(HEAD + text))
    assert [each.message for each in found] == warnings
    assert all(each.render().startswith("<text>:") for each in found)


def test_no_program_that_comes_along_has_any() -> None:
    for path in BUNDLED.rglob("*.dpg"):
        assert unused(read_source(path, {}).program) == (), path
