"""A limit that is reached at a higher precision leaves what the precision before told."""

from __future__ import annotations

from fractions import Fraction

import pytest

import dipapprox
from dipapprox.errors import LimitReached
from dipapprox.pairs.growth import Factor
from dipapprox.pairs.maximum import Maximum
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.privacy.profiles.profile_result import LeastDelta
from dipapprox.privacy.verdict import Answer, Verdict

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
    assert isinstance(whole, LeastDelta)
    middle = (whole.delta_enclosure.lower + whole.delta_enclosure.upper) / 2
    found = dipapprox.verify(dipapprox.parse(TEXT), eps=1, eps_prv="1/4", delta=middle)
    assert isinstance(found, Verdict)
    assert found.answer is Answer.UNKNOWN
    assert str(found.reason).startswith("time limit: 1 s; ")
    assert found.delta_enclosure is not None
    assert middle in found.delta_enclosure
    assert found.delta_enclosure.width < Fraction(1, 10**6)


@pytest.mark.usefixtures("ended_after_one_precision")
def test_a_profile_keeps_the_enclosure() -> None:
    found = dipapprox.profile(dipapprox.parse(TEXT), eps=1, eps_prv="1/4", width="1e-60")
    assert isinstance(found, LeastDelta)
    assert "time limit: 1 s" in str(found.reason)
    assert found.delta_enclosure.lower > 0
    assert found.delta_enclosure.width < Fraction(1, 10**6)
