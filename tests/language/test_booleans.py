"""Booleans: cells, variables, and conditions that are assigned."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import pytest

from dipapprox.language import core
from dipapprox.language.core import Assign, Choose, Comparison, Constant, If, Relation, Variable
from dipapprox.language.values import parse_input
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from tests.language.samples import core_of

HEADER = """\
input a, b in bool
input n in {0, 1}
output out in bool
output bit in {0, 1}
adjacent l0 1
"""

TRUE, FALSE = Constant("true"), Constant("false")


def body_of(text: str) -> core.Block:
    return core_of(HEADER + text).body


def test_the_domain_bool_has_two_named_values() -> None:
    program = core_of(HEADER)
    assert program.inputs[0].domain == ("false", "true")
    assert program.outputs[0].domain == ("false", "true")
    assert parse_input("true,false,1", program) == ("true", "false", Fraction(1))
    assert core_of(HEADER.replace("bool", "{false, true}")) == program


def test_truth_values_may_stand_in_pairs() -> None:
    pairs = "adjacent { (true, false, 0) ~ (false, false, 0) }"
    program = core_of(HEADER.replace("adjacent l0 1", pairs))
    assert program.adjacency == core.Listed(
        ((("true", "false", Fraction(0)), ("false", "false", Fraction(0))),)
    )


def test_boolean_variables_are_copied_and_compared_as_values() -> None:
    assert body_of("x <- a\nout <- x\nif x != b then out <- true end") == (
        Assign(Variable("x"), Variable("a")),
        Assign(Variable("out"), Variable("x")),
        If(
            Comparison(Variable("x"), Relation.NOT_EQUAL, Variable("b")),
            (Assign(Variable("out"), TRUE),),
            (),
        ),
    )


def test_every_target_gets_a_truth_value_in_its_own_way() -> None:
    ((statement),) = body_of("x, bit, out <- a and not b")
    assert isinstance(statement, If)
    one, zero = Constant(Fraction(1)), Constant(Fraction(0))
    names = [Variable("x"), Variable("bit"), Variable("out")]
    values = zip([TRUE, one, TRUE], [FALSE, zero, FALSE], strict=True)
    for i, (yes, no) in enumerate(values):
        assert statement.then[i] == Assign(names[i], yes)
        assert statement.otherwise[i] == Assign(names[i], no)


def test_a_choice_between_truth_values() -> None:
    (choice,) = body_of("out <- choose {a : 1/2, true : 1/4, false : 1/4}")
    assert isinstance(choice, Choose)
    assert [value for value, _ in choice.options] == [Variable("a"), TRUE, FALSE]
    first, second = body_of("out <- choose {not a : 1/2, b : 1/2}")
    assert isinstance(first, If)
    assert isinstance(second, Choose)
    assert isinstance(first.then[0], Assign)
    assert [value for value, _ in second.options] == [first.then[0].target, Variable("b")]


Computed = Callable[[bool, bool, int], bool]
"""What a program computes from a, b and n."""

VALUES = {"true": True, "false": False}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("out <- a", lambda a, b, n: a),
        ("out <- not a or n = 1", lambda a, b, n: not a or n == 1),
        ("x <- a and b\ny <- x\nout <- not y", lambda a, b, n: not (a and b)),
        ("x <- n = 1\nif x then out <- b else out <- a end", lambda a, b, n: b if n else a),
        ("x <- n\nx <- a\nout <- x = 1", lambda a, b, n: a),
        ("v[1] <- a\nv[2] <- b\nout <- v[n + 1]", lambda a, b, n: b if n else a),
        ("x <- 1\nx <- a\nx <- x + 2 * x\nout <- x >= 3", lambda a, b, n: a),
        ("v[1] <- 0\nv[2] <- a\nv[1] <- b\nx <- max(v)\nout <- x = 1", lambda a, b, n: a or b),
        ("out <- a = b", lambda a, b, n: a == b),
        ("out <- true = a", lambda a, b, n: a),
        ("x, y <- a\nout <- x != (not y)", None),
        ("x <- 0\nwhile a and x < 3 do x <- x + 1 end\nout <- x = 3", lambda a, b, n: a),
        ("x <- b\nwhile x do x <- a and not b end\nout <- x or n = 1", lambda a, b, n: n == 1),
    ],
)
def test_programs_compute_with_truth_values(text: str, expected: Computed | None) -> None:
    if expected is None:
        with pytest.raises(Exception, match="conditions cannot be compared"):
            body_of(text + "\nbit <- 0")
        return
    states = execute(core_of(HEADER + text + "\nbit <- out"), True, Limits()).states
    for input in product(VALUES, VALUES, (0, 1)):
        cells = dict(zip(("a", "b", "n"), input, strict=True))
        reached = [
            state.outputs
            for state in states
            if all(cells[str(c.cell)] in (c.values or ()) for c in state.conditions)
        ]
        truth = expected(VALUES[input[0]], VALUES[input[1]], input[2])
        assert reached == [("true" if truth else "false", Fraction(truth))]
