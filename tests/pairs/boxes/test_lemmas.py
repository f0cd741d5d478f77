"""What is left out for what guards say: the same maxima as by subdivision, with fewer sets."""

from fractions import Fraction
from math import exp, expm1, log1p

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.language.core import Norm, Within
from dipapprox.language.domains import AllReals
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.pairs.boxes.cells import all_pairs
from dipapprox.pairs.boxes.infinity import with_ends
from dipapprox.pairs.boxes.polygons import Polygon, X, Y, extent
from dipapprox.pairs.boxes.regions import LEMMAS, OUTPUTS, SYMMETRY, TRANSLATIONS, lowest
from dipapprox.pairs.boxes.search import BoxSearchResult
from dipapprox.pairs.boxes.together import RealPairs
from dipapprox.pairs.divergence import eps_prv_factor
from dipapprox.privacy.options import Options
from dipapprox.privacy.sources import open_probabilities
from dipapprox.semantics.execution import execute
from tests.texts import text_of
from tests.thorough import part

_TENTH = Fraction(1, 10)

_THREE = text_of("boxes/lemmas-1")

_MAX = """
input q[{n}] in real 0..{width}
output out in 1..{n}
adjacent {rule}
for i in 1..{n} do v[i] <- {noise}(q[i], 8) end
out <- argmax(v)
"""


_MIXED = """
input b in {0, 1}
input q[2] in real -1/2..1
output out in 1..3
adjacent linf 1
x <- Gauss(q[1] + b, 4)
y <- Gauss(q[2], 3)
if x >= y then out <- 1 else if y >= 1 then out <- 2 else out <- 3 end end
"""
"""The sign in q[2] is known for some sets of outputs only."""


def _found(text: str, eps_prv: Fraction, lemmas: frozenset[str]) -> tuple[BoxSearchResult, str]:
    states = execute(elaborate(parse(text), {}, "x"), True, Limits())
    bulk = open_probabilities(states, Fraction(1), Options())
    real = RealPairs(states, Fraction(1), bulk, Limits(), lemmas=lemmas)
    real.at(eps_prv_factor(eps_prv, 64), 40)
    assert real.known is not None
    return real.known, real.name


@pytest.mark.parametrize(
    ("text", "eps_prv", "lemmas"),
    part(
        [
            (_MAX.format(n=3, width=1, noise="Gauss", rule="linf 1"), _TENTH, {OUTPUTS, SYMMETRY}),
            (_MIXED, Fraction(1, 2), {OUTPUTS}),
            (_MAX.format(n=2, width=4, noise="Gauss", rule="linf 1"), _TENTH, {TRANSLATIONS}),
            (_THREE.replace("Gauss", "Lap"), _TENTH, {OUTPUTS}),
        ],
        2,
    ),
)
def test_lemmas_are_shortcuts_only(text: str, eps_prv: Fraction, lemmas: set[str]) -> None:
    plain, words = _found(text, eps_prv, frozenset())
    own, own_words = _found(text, eps_prv, frozenset(lemmas))
    every, _ = _found(text, eps_prv, LEMMAS)
    assert all(lemma in own_words and lemma not in words for lemma in lemmas)
    assert own.sets < 0.8 * plain.sets
    assert every.sets < plain.sets
    for each in (own, every):
        assert each.delta.meets(plain.delta)
        assert each.delta.width < Fraction(1, 10**9)


@given(st.lists(st.fractions(0, 3, max_denominator=5), min_size=6, max_size=6))
def test_every_pair_has_one_that_stands_for_it(values: list[Fraction]) -> None:
    """Move it down: some set that is kept holds the result."""
    program = elaborate(parse(_MAX.format(n=3, width=3, noise="Lap", rule="linf 3")), {}, "x")
    roots = all_pairs(program.inputs, Within(Norm.LINF, Fraction(3)))
    kept = lowest(roots)
    least = min(values)
    moved = [value - least for value in values]
    pairs = list(zip(moved[:3], moved[3:], strict=True))

    def inside(polygon: Polygon, point: tuple[Fraction, Fraction]) -> bool:
        ends = (extent(polygon, X), extent(polygon, Y))
        return all(low <= x <= high for (low, high), x in zip(ends, point, strict=True))

    # Rectangles and segments along axes: extents tell.
    assert any(
        all(inside(polygon, point) for polygon, point in zip(each.polygons, pairs, strict=True))
        for each in kept
    )


@pytest.mark.parametrize("count", [1, 20])
def test_every_sample_may_be_far_out(count: int) -> None:
    """Far up all samples are positive for sure; at the end the first negative one stops."""
    text = text_of("boxes/lemmas-4")
    program = elaborate(parse(text), {"N": count}, "x")
    states, moved = with_ends(execute(program, True, Limits()), Fraction(1))
    (cell,) = states.program.inputs
    assert isinstance(cell.domain, AllReals)
    truth = -expm1(count * log1p(-exp(-float(cell.domain.bounds[1]))))
    assert truth * (1 - 1e-9) <= moved <= count * Fraction(1, 2**48)


@pytest.mark.parametrize("scale", ["1/1000000000", "1", "1000000000"])
def test_ends_are_as_far_as_noise_is_wide(scale: str) -> None:
    text = f"""
input q in real
output out in {{0, 1}}
adjacent linf {scale}
out <- 0
x <- Lap(0, {scale})
if q + x >= 0 then out <- 1 end
"""
    states, _ = with_ends(execute(elaborate(parse(text), {}, "x"), True, Limits()), Fraction(1))
    (cell,) = states.program.inputs
    assert isinstance(cell.domain, AllReals)
    assert 66 <= cell.domain.bounds[1] / Fraction(scale) * 2 <= 80


@pytest.mark.parametrize(
    ("guard", "least", "most"),
    [
        ("k - q + x >= 0", 2, 9),
        ("q - k + x >= 0", 2, 9),
        ("x >= q + k", -9, -2),
        ("x >= k - q", 2, 9),
    ],
)
def test_ends_are_as_far_beyond_all_that_an_input_is_compared_with(
    guard: str, least: int, most: int
) -> None:
    """At q = least the first comparison is even without noise, at q = most the last one."""
    text = f"""
input q in real
input k in {{2, 9}}
output out in {{0, 1}}
adjacent linf 1
x <- Lap(0, 1)
if {guard} then out <- 1 else out <- 0 end
"""
    states, _ = with_ends(execute(elaborate(parse(text), {}, "x"), True, Limits()), Fraction(1))
    low, high = states.program.inputs[0].domain.bounds
    assert least - low == high - most == 34


@pytest.mark.parametrize(
    ("guards", "events"),
    [
        ("q + x >= 0 and q - x >= 0", 2),  # x is far out on one side, or on the other one
        ("q + x >= 0 and q + y >= 0", 2),
        ("q + x >= 0 and 0 - q - x <= 0", 1),
    ],
)
def test_noise_far_out_is_counted_once_for_each_side(guards: str, events: int) -> None:
    text = f"""
input q in real
output out in {{0, 1}}
adjacent linf 1
out <- 0
x <- Lap(0, 1)
y <- Lap(0, 1)
if {guards} then out <- 1 end
"""
    program = elaborate(parse(text), {}, "x")
    _, moved = with_ends(execute(program, True, Limits()), Fraction(1))
    assert moved == events * Fraction(1, 2**48)
