"""What makes no path of its own means what the paths of ordinary Python mean."""

from itertools import product
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
from hypothesis import given

import dipapprox
from dipapprox.language.functions.mechanism import read_mechanism
from tests.thorough import examples

_HEAD = """
from typing import Annotated
from dipapprox import Quantity, Weight, choose, discrete_laplace, laplace, mechanism, where

@mechanism(adjacent="linf 1")
def chosen(
    q: Annotated[list[Quantity], "[2] in {0, 1}"], eps: Weight
) -> Annotated[list[int], "[2] in -9..9"]:
    a = laplace(q[0], 1 / eps)
    z = discrete_laplace(q[1], 1)
    c = choose([q[0], 1])
"""

Pair = tuple[str, str]
"""One expression, written without paths and with them."""

COMPARED: st.SearchStrategy[Pair] = st.sampled_from(
    [
        (each, each)
        for each in ("a > 0", "a <= 1", "z >= 1", "z == 0", "c == 1", "q[1] == c", "a > c")
    ]
)


def larger(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    both = st.tuples(inner, inner)
    return st.one_of(
        both.map(lambda p: (f"(({p[0][0]}) & ({p[1][0]}))", f"(({p[0][1]}) and ({p[1][1]}))")),
        both.map(lambda p: (f"(({p[0][0]}) | ({p[1][0]}))", f"(({p[0][1]}) or ({p[1][1]}))")),
        inner.map(lambda one: (f"(~({one[0]}))", f"(not ({one[1]}))")),
    )


CONDITIONS = st.recursive(COMPARED, larger, max_leaves=3)
VALUES: st.SearchStrategy[Pair] = st.one_of(
    st.builds(
        lambda on, yes, no: (f"where({on[0]}, {yes}, {no})", f"({yes} if {on[1]} else {no})"),
        CONDITIONS,
        st.sampled_from(["1", "q[1]", "c + 1"]),
        st.sampled_from(["0", "-1", "2 * c"]),
    ),
    st.builds(
        lambda one, other: (f"({one[0]}) + ({other[0]})", f"int({one[1]}) + int({other[1]})"),
        CONDITIONS,
        COMPARED,
    ),
)


def distributions(values: list[str]) -> list[dict[Any, Any]]:
    text = f"{_HEAD}    return [{', '.join(values)}]\n"
    function = read_mechanism(Path("chosen.py"), text, "chosen")
    program = dipapprox.parse(function.text())
    return [
        {
            each.output: each.probability
            for each in dipapprox.probability(program, eps=1, input=input).outputs
        }
        for input in product((0, 1), repeat=2)
    ]


@examples(6)
@given(VALUES, VALUES)
def test_both_ways_give_the_same_distribution(first, second) -> None:
    without, with_paths = (distributions([first[way], second[way]]) for way in (0, 1))
    for one, other in zip(without, with_paths, strict=True):
        for output in {*one, *other}:
            if output not in one or output not in other:
                assert (one | other)[output].lower == 0
                continue
            assert one[output].lower <= other[output].upper
            assert other[output].lower <= one[output].upper
            assert one[output].width < 1e-6
