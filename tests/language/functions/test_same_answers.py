"""A random mechanism, written as a Python function and as a program: the same distribution."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given, settings

import dipapprox
from dipapprox.language.functions.mechanism import Mechanism, read_mechanism

_HEAD = """
from fractions import Fraction
from typing import Annotated
from dipapprox import Quantity, Weight, choose, laplace, mechanism

@mechanism(adjacent="linf 1")
def chosen(
    q: Annotated[list[Quantity], "[2] in {0, 1}"], eps: Weight
) -> Annotated[int, "in -9..9"]:
    n = 0
    a = laplace(q[0], 1 / eps)
    b = laplace(0, 2 / eps)
"""

_DECLARATIONS = """
input q[2] in {0, 1}
output out in -9..9
adjacent linf 1
n <- 0
a <- Lap(q[1], 1 / eps)
b <- Lap(0, 2 / eps)
"""

REALS = st.sampled_from(
    [("a", "a"), ("b", "b"), ("2 * a - b", "2 * a - b"), ("q[1] - a", "q[2] - a")]
)
COMPARISONS = st.one_of(
    st.builds(
        lambda left, relation, right: (
            f"{left[0]} {relation} {right[0]}",
            f"{left[1]} {relation} {right[1]}",
        ),
        REALS,
        st.sampled_from(["<", "<=", ">", ">="]),
        st.one_of(REALS, st.sampled_from([("0", "0"), ("1", "1")])),
    ),
    st.sampled_from(
        [("q[0] == q[1]", "q[1] = q[2]"), ("n >= 1", "n >= 1"), ("q[0] != 1", "q[1] != 1")]
    ),
)
CONDITIONS = st.one_of(
    COMPARISONS,
    st.builds(
        lambda one, word, other: tuple(
            f"({x}) {word} ({y})" for x, y in zip(one, other, strict=True)
        ),
        COMPARISONS,
        st.sampled_from(["and", "or"]),
        COMPARISONS,
    ),
    st.builds(lambda one: tuple(f"not ({x})" for x in one), COMPARISONS),
    st.builds(
        lambda one, other: (
            f"({one[0]}) ^ ({other[0]})",
            f"({one[1]}) and not ({other[1]}) or not ({one[1]}) and ({other[1]})",
        ),
        COMPARISONS,
        COMPARISONS,
    ),
)
SIMPLE = st.sampled_from(
    [
        ("n += 1", "n <- n + 1"),
        ("n = -1", "n <- -1"),
        ("b = laplace(q[1], 1 / eps)", "b <- Lap(q[2], 1 / eps)"),
        ("a = a - 1", "a <- a - 1"),
        ("return n", "out <- n; exit"),
        ("n = max(n, 1)", "if n < 1 then n <- 1 end"),
        ("n = choose([n, 1], [Fraction(1, 3), Fraction(2, 3)])", "n <- choose {n : 1/3, 1 : 2/3}"),
        ("n = [0, 2][[a, b].index(max(a, b))]", "if b > a then n <- 2 else n <- 0 end"),
        ("n = sorted([(a, 3), (b, 1)])[0][1]", "if b < a then n <- 1 else n <- 3 end"),
        ("n += [b, 1 + q[0]].count(2)", "if q[1] = 1 then n <- n + 1 end"),
        (
            "a = laplace(q[1], (1 + q[0]) / eps)",
            "if q[1] = 0 then a <- Lap(q[2], 1 / eps) else a <- Lap(q[2], 2 / eps) end",
        ),
    ]
)


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def branch(condition: Any, yes: Any, no: Any) -> Any:
    return (
        [f"if {condition[0]}:", *indented(yes[0]), "else:", *indented(no[0])],
        [f"if {condition[1]} then", *yes[1], "else", *no[1], "end"],
    )


def matched(yes: Any, no: Any) -> Any:
    zero, others = (indented(indented(each[0])) for each in (yes, no))
    return (
        ["match q[1]:", "    case 0:", *zero, "    case _:", *others],
        ["if q[2] = 0 then", *yes[1], "else", *no[1], "end"],
    )


def caught(condition: Any, yes: Any, no: Any) -> Any:
    tried = [f"if {condition[0]}: raise KeyError", *no[0]]
    return (
        ["try:", *indented(tried), "except KeyError:", *indented(yes[0])],
        [f"if {condition[1]} then", *yes[1], "else", *no[1], "end"],
    )


def loop(body: Any) -> Any:
    return (["for i in range(2):", *indented(body[0])], ["for i in 1..2 do", *body[1], "end"])


def block(statements: list[Any]) -> Any:
    return (
        [line for each in statements for line in each[0]],
        [line for each in statements for line in each[1]],
    )


LINES = SIMPLE.map(lambda pair: ([pair[0]], [pair[1]]))
INNER = st.lists(LINES, min_size=1, max_size=2).map(block)
STATEMENTS = st.one_of(
    LINES,
    st.builds(branch, CONDITIONS, INNER, INNER),
    st.builds(caught, CONDITIONS, INNER, INNER),
    st.builds(matched, INNER, INNER),
    st.builds(loop, INNER),
)
BLOCKS = st.lists(STATEMENTS, min_size=1, max_size=2).map(block)
BODIES = st.lists(
    st.one_of(st.builds(branch, CONDITIONS, BLOCKS, INNER), STATEMENTS), min_size=1, max_size=3
).map(block)


def function_of(body: list[str]) -> Mechanism[Any, Any]:
    text = _HEAD + "\n".join(indented([*body, "return n"]))
    return read_mechanism(Path("chosen.py"), text, "chosen")


@settings(max_examples=25, deadline=None)
@given(BODIES)
def test_the_function_and_the_program_have_the_same_distributions(
    body: tuple[list[str], list[str]],
) -> None:
    function = function_of(body[0])
    written = dipapprox.parse(_DECLARATIONS + "\n".join((*body[1], "out <- n")))
    made = dipapprox.parse(function.text())
    for input in product((0, 1), repeat=2):
        one, other = (
            {
                each.output: each.probability
                for each in dipapprox.probability(program, eps=1, input=input).outputs
            }
            for program in (written, made)
        )
        for output in {*one, *other}:
            if output not in one or output not in other:
                assert (one | other)[output].lower == 0
                continue
            low = max(one[output].lower, other[output].lower)
            assert low <= min(one[output].upper, other[output].upper)
            assert one[output].width < 1e-6
