"""A limit leaves what precisions, pairs and budgets before it told."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.errors import LimitReached
from dipapprox.limits import Limits
from dipapprox.pairs.divergence import Factor
from dipapprox.pairs.maximum import Maximum
from dipapprox.pairs.published.divergences import PublishedDivergences, Terms
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.privacy.verdict import Answer

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
