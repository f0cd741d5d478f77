"""VerifyDP on sources whose true distributions are known, and what a limit leaves of a search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import LimitReached
from dipapprox.language.core import Input
from dipapprox.limits import Limits
from dipapprox.pairs.divergence import Factor, Growth, divergence, eps_prv_factor
from dipapprox.pairs.maximum import Maximum
from dipapprox.pairs.published.divergences import PublishedDivergences, Terms
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.pairs.search import Search, precisions
from dipapprox.pairs.selections import Pair, one_by_one
from dipapprox.privacy.conclusion import Conclusion, conclude, witness_over
from dipapprox.privacy.verdict import Answer

ZERO, ONE, TWO = ((Fraction(n),) for n in range(3))
LADDER = precisions(8, 128)


@dataclass
class Fake:
    """Encloses known distributions; more bits are never wider, and never the exact point."""

    laws: Mapping[Input, tuple[Fraction, ...]]
    failing: frozenset[Input] = frozenset()
    asked: list[tuple[Input, int]] = field(default_factory=list)
    name: str = "fake"

    def distributions(
        self, inputs: Sequence[Input], bits: int
    ) -> list[tuple[Enclosure, ...] | NotEnclosed]:
        return [self.distribution(input, bits) for input in inputs]

    def distribution(self, input: Input, bits: int) -> tuple[Enclosure, ...] | NotEnclosed:
        self.asked.append((input, bits))
        if input in self.failing:
            return NotEnclosed("the quadrature did not converge")
        step = Fraction(1, 3 * 2**bits)
        return tuple(
            Enclosure(max(p - step, Fraction(0)), min(p + 2 * step, Fraction(1)))
            if p
            else Enclosure.exact(0)
            for p in self.laws[input]
        )


def law(*weights: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(w, sum(weights)) for w in weights)


def run(
    source: Fake, delta: Fraction, pairs: list[Pair], budget: Fraction = Fraction(1, 2)
) -> tuple[Search, Conclusion]:
    search = Search(source, delta, Growth(budget), LADDER, Limits())
    search.run(one_by_one(pairs), len(pairs))
    outputs = tuple((Fraction(i),) for i in range(len(source.laws[ZERO])))
    return search, conclude(search, len(pairs), None, partial(witness_over, outputs, delta))


def true_delta(source: Fake, pair: Pair, budget: Fraction) -> Enclosure:
    """delta_{u,u'} to 400 bits, from the exact distributions."""
    p, q = ([Enclosure.exact(v) for v in source.laws[input]] for input in pair)
    return divergence(p, q, eps_prv_factor(budget, 400))


WEIGHTS = st.lists(st.integers(0, 20), min_size=3, max_size=3).filter(any)
SOURCES = st.builds(
    lambda a, b, c: Fake({ZERO: law(*a), ONE: law(*b), TWO: law(*c)}), WEIGHTS, WEIGHTS, WEIGHTS
)
BUDGETS = st.fractions(0, 2, max_denominator=10)
BOTH = [(ZERO, ONE), (ONE, ZERO)]
ALL = [(u, v) for u in (ZERO, ONE, TWO) for v in (ZERO, ONE, TWO) if u != v]


@given(SOURCES, BUDGETS, st.fractions(0, 1, max_denominator=50))
def test_verdicts_are_never_wrong(source: Fake, budget: Fraction, delta: Fraction) -> None:
    _, conclusion = run(source, delta, ALL, budget)
    largest = [true_delta(source, pair, budget) for pair in ALL]
    match conclusion.answer:
        case Answer.DP:
            assert max(d.lower for d in largest) <= delta
        case Answer.NOT_DP:
            assert max(d.upper for d in largest) > delta
            assert conclusion.witness.delta_enclosure.lower > delta
        case Answer.UNKNOWN:
            assert any(abs(d.lower - delta) < Fraction(1, 2**120) for d in largest)
            assert "critical" in conclusion.reason


def test_a_failed_last_attempt_keeps_the_witness_of_the_one_before() -> None:
    class Fading(Fake):
        def distribution(self, input: Input, bits: int) -> tuple[Enclosure, ...] | NotEnclosed:
            return NotEnclosed("too fine") if bits > 40 else super().distribution(input, bits)

    source = Fading({ZERO: law(1, 3), ONE: law(3, 1)})
    _, conclusion = run(source, Fraction(1, 2), BOTH, budget=Fraction(0))
    assert conclusion.answer is Answer.UNKNOWN
    assert "too fine" in conclusion.reason
    assert [row.output for row in conclusion.witness.rows] == [(Fraction(1),)]


def test_unknown_goes_on_to_a_later_violation() -> None:
    source = Fake({ZERO: law(1, 1), ONE: law(1, 9), TWO: law(1, 1)}, failing=frozenset([TWO]))
    pairs = [(ZERO, TWO), (ZERO, ONE)]
    search, conclusion = run(source, Fraction(1, 10), pairs)
    assert conclusion.answer is Answer.NOT_DP
    assert search.checked == 2
    _, conclusion = run(source, Fraction(9, 10), pairs)
    assert conclusion.answer is Answer.UNKNOWN
    assert conclusion.reason == (
        "no enclosure for input (0) and adjacent (2): the quadrature did not converge"
    )
    assert conclusion.delta_enclosure.upper == 1
    assert conclusion.witness is None


TEXT = "input q in 0..3\nadjacent linf 1\noutput y in real\ny <- Gauss(q, 2 / eps)\n"


@pytest.fixture
def ended_after_one_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a limit be reached at the second precision."""
    at = PublishedPairs.at
    first: list[int] = []

    def ended(self: PublishedPairs, factor: Factor, bits: int) -> Maximum:
        first.append(bits)
        if bits > first[0]:
            raise LimitReached("time limit: 1 s")
        return at(self, factor, bits)

    monkeypatch.setattr(PublishedPairs, "at", ended)


@pytest.mark.usefixtures("ended_after_one_precision")
def test_an_unknown_verdict_keeps_the_enclosure() -> None:
    whole = dipapprox.profile(dipapprox.parse(TEXT), eps=1, eps_prv="1/4")
    middle = (whole.delta_enclosure.lower + whole.delta_enclosure.upper) / 2
    found = dipapprox.verify(dipapprox.parse(TEXT), eps=1, eps_prv="1/4", delta=middle)
    assert found.answer is Answer.UNKNOWN
    assert str(found.reason).startswith("time limit: 1 s; ")
    assert middle in found.delta_enclosure
    assert found.delta_enclosure.width < Fraction(1, 10**6)


CLAMPED = """
input q[2] in 0..2
output y[2] in real
adjacent linf 1
for i in 1..2 do
    r <- Lap(q[i], 1/eps)
    y[i] <- clamp(r, 0, 2)
end
"""


@pytest.fixture
def ended_after_some_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a limit be reached at the fourth divergence."""
    divergence = PublishedDivergences.divergence
    asked: list[int] = []

    def ended(
        self: PublishedDivergences, terms: Terms, factor: Factor, bits: int
    ) -> Enclosure | NotEnclosed:
        asked.append(bits)
        if len(asked) > 3:
            raise LimitReached("time limit: 1 s")
        return divergence(self, terms, factor, bits)

    monkeypatch.setattr(PublishedDivergences, "divergence", ended)


@pytest.mark.usefixtures("ended_after_some_pairs")
def test_what_some_pairs_told_is_kept() -> None:
    options = dipapprox.Options(max_precision=40)
    found = dipapprox.profile(dipapprox.parse(CLAMPED), eps=1, eps_prv=1, options=options)
    assert "time limit: 1 s" in str(found.reason)
    assert Fraction(1, 10) < found.delta_enclosure.lower < found.delta_enclosure.upper == 1


@pytest.mark.usefixtures("ended_after_some_pairs")
def test_what_some_pairs_told_refutes() -> None:
    found = dipapprox.verify(dipapprox.parse(CLAMPED), eps=1, eps_prv=1, delta="1/10")
    assert found.answer is Answer.NOT_DP


def test_budgets_are_known_whatever_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(_self: PublishedPairs, _factor: Factor, _bits: int) -> Maximum:
        monkeypatch.setattr(Limits, "check", no_time)
        raise LimitReached("time limit: 1 s")

    def no_time(_self: Limits) -> None:
        raise LimitReached("time limit: 1 s")

    monkeypatch.setattr(PublishedPairs, "at", ended)
    found = dipapprox.profile(dipapprox.parse(CLAMPED), eps=1, delta="1/10")
    assert found.eps_prv_enclosure.upper == 2
    assert "time limit: 1 s" in str(found.reason)
