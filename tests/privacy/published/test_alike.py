"""Pairs that differ by shifts have one normal form; ends are shown exactly."""

from fractions import Fraction
from fractions import Fraction as F
from random import Random
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.errors import LimitReached
from dipapprox.events.measures import NoProduct
from dipapprox.language import core
from dipapprox.numerics.simplest import shortest, simplest
from dipapprox.pairs.adjacency import select_pairs
from dipapprox.pairs.maxima import Maxima
from dipapprox.pairs.maximum import FactorAt, Maximum
from dipapprox.pairs.published.divergences import PublishedDivergences
from dipapprox.pairs.published.normal_form import MeasureSides, normal_form
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.notation import NumberSet
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.details import LeastFactor, PairDetails
from dipapprox.privacy.profiles.least_eps_prv import EpsPrvBounds, least_eps_prv
from dipapprox.privacy.sources import open_published
from dipapprox.semantics.execution import execute

ALIKE = [
    "y <- {0}(q, 2 / eps)\nz <- {1}({2} * q + t, 1)",
    "a <- {0}({2} * q, 2)\ny <- 5 - 2 * a\nb <- {1}(t, 1)\nif t = 1 then z <- q else z <- b end",
    "y <- 0\nz <- {0}(3 * t - q, 1 / eps)\na <- {1}(q, 1)\nif a >= {2} then y <- a end",
    "z <- 1\nif q = 0 then y <- {0}(t, 1) else y <- {1}({2} - t, 2) end",
    "a <- choose {{ 0 : 1/3, 1 : 2/3 }}\nz <- 0\n"
    "if a = 1 then y <- {0}(q, 1) else y <- {1}(0, 1) end",
]


def opened(text: str) -> tuple[core.Program, PublishedDivergences]:
    program = dipapprox.parse(text)
    options = Options()
    states = execute(program, True, options.limits, real_outputs=True)
    return program, open_published(states, Fraction(1, 2), options)


@pytest.mark.parametrize("body", ALIKE)
@pytest.mark.parametrize("seed", range(2))
def test_remembered_forms_are_those_of_the_measures(body: str, seed: int) -> None:
    random = Random(seed)
    noise = [random.choice(["Lap", "Gauss"]) for _ in range(2)]
    head = "input q in 0..2\ninput t in {0, 1}\noutput y, z in real\nadjacent all\n"
    program, found = opened(head + body.format(*noise, random.choice([-1, 1, 2])) + "\n")
    pairs = list(select_pairs(program, AllPairs()))
    random.shuffle(pairs)
    for u, v in pairs:
        first, second, known = found.measures(u), found.measures(v), found.sides((u, v))
        if isinstance(first, NoProduct) or isinstance(second, NoProduct):
            assert isinstance(known, NoProduct)
            continue
        assert not isinstance(known, NoProduct)
        assert [outcome for outcome, _ in known] == list(first)
        for outcome, form in known:
            assert form == normal_form(MeasureSides(first[outcome], second.get(outcome, ())))


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
