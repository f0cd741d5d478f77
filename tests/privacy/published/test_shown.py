"""What answers about numbers show: exact ends, and what was found before a limit."""

from __future__ import annotations

from fractions import Fraction as F
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.errors import LimitReached
from dipapprox.numerics.simplest import shortest, simplest
from dipapprox.pairs.maxima import Maxima
from dipapprox.pairs.maximum import FactorAt, Maximum
from dipapprox.privacy.notation import NumberSet
from dipapprox.privacy.profiles.details import LeastFactor, PairDetails
from dipapprox.privacy.profiles.least_eps_prv import EpsPrvBounds, least_eps_prv

PAIR = ((0,), (1,))


@given(st.fractions(max_denominator=10**12), st.integers(0, 40))
def test_the_shortest_number_is_inside_and_short(place: F, bits: int) -> None:
    upper = place + F(1, 2**bits)
    found = shortest(place, upper)
    assert place <= found <= upper
    text = NumberSet(((found, None),)).text("y")
    assert F(text.removeprefix("y >= ")) == found
    assert len(text) <= max(len(str(simplest(place, upper))), len(str(int(place))) + 17) + 6


@given(st.fractions())
def test_shown_ends_are_the_ends(end: F) -> None:
    assert F(NumberSet(((None, end),)).text("y").removeprefix("y <= ")) == end


class _Interrupted:
    """All pairs, of which one bound is known before the time is up."""

    ladder = (40,)
    pairs = 2
    ended: str | None = None
    out_of_time = True

    def __init__(self, calls: int) -> None:
        self._calls = calls

    def sharpened(self, factor_at: FactorAt, enough: object) -> Maximum:
        if not self._calls:
            raise LimitReached("time limit: 1 s")
        self._calls -= 1
        return Maximum(Enclosure(F(1, 4), F(1, 2)), PAIR, 40)


class _Demanding:
    def least_factor(self, pair: object, delta: F, bits: int) -> LeastFactor:
        return LeastFactor(F(2), F(2) + F(1, 2**40), None)


def interrupted(calls: int) -> tuple[EpsPrvBounds, _Interrupted]:
    maxima, details = _Interrupted(calls), _Demanding()
    found = least_eps_prv(cast(Maxima, maxima), cast(PairDetails, details), F(1, 10), F(1, 100))
    return found, maxima


def test_what_was_demanded_before_a_limit_stays() -> None:
    found, maxima = interrupted(1)
    assert 0.693 < found.eps_prv.lower < 0.694
    assert found.eps_prv.upper is None and found.pair == PAIR
    assert maxima.ended == "time limit: 1 s"
    found, maxima = interrupted(0)
    assert found.eps_prv == Extended(F(0), None) and maxima.ended == "time limit: 1 s"
