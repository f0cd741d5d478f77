"""In which order proofs of claims at one eps are tried: what the search has found comes first."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice

import pytest

from dipapprox import parse
from dipapprox.kernel.errors import Refused
from dipapprox.limits import Limits
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.verifier import verify
from dipapprox.proof_steps import proved
from dipapprox.proof_steps.verdicts import (
    BY_BUDGET,
    IN_CLOSED_FORM,
    LEAST_BITS,
    MANY_PAIRS,
    Goal,
    attempts,
    goal_of,
)

ATTAINED = """
input q in {0, 1}
output o in {a, b}
r <- Lap(q, 1 / eps)
if r >= 1 then
    o <- a
else
    o <- b
end
"""

MANY = """
input q[8] in 0..9
output o in {a, b}
adjacent linf 9
r <- Gauss(q[1], 90 / eps)
if r >= 1 then
    o <- a
else
    o <- b
end
"""
"""It has 10^16 pairs, and its outputs depend on one input."""

ONE = Fraction(1)


def test_where_closed_forms_decided_they_come_first() -> None:
    program = parse(ATTAINED)
    verdict = verify(program, Claim(ONE, Fraction(0)), AllPairs(), Options())
    assert "exact" in verdict.engine
    goal = goal_of(verdict)
    assert next(attempts(goal)) == IN_CLOSED_FORM
    found = proved.replayed(program, goal, AllPairs(), Limits())
    assert found.bits == IN_CLOSED_FORM


def test_budgets_come_first_where_there_are_many_pairs() -> None:
    goal = Goal(Claim(ONE, Fraction(0)), None, Fraction(0), 2)
    assert next(attempts(goal, MANY_PAIRS + 1)) == BY_BUDGET
    assert [*attempts(goal, MANY_PAIRS)][-1] == BY_BUDGET
    far = Goal(Claim(ONE, Fraction(1, 2)), None, Fraction(1, 4), 2)
    assert [*attempts(far, MANY_PAIRS + 1)][-1] == BY_BUDGET


@pytest.mark.parametrize("gap", [None, Fraction(0)])
def test_where_enclosures_decided_they_come_first(gap: Fraction | None) -> None:
    goal = Goal(Claim(ONE, Fraction(0)), None, gap, 2)
    assert list(islice(attempts(goal), 2)) == [LEAST_BITS, IN_CLOSED_FORM]


def test_nothing_is_tried_twice() -> None:
    for exactly in (False, True):
        for gap in (None, Fraction(0), Fraction(1, 1000)):
            for outputs in (2, 5000):
                tried = list(attempts(Goal(Claim(ONE, ONE), None, gap, outputs, exactly)))
                assert len(tried) == len(set(tried)) == 7


def test_more_pairs_than_the_kernel_goes_through_are_not_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = parse(MANY)
    verdict = verify(program, Claim(ONE, Fraction(1, 2)), AllPairs(), Options())
    replays: list[object] = []
    monkeypatch.setattr(proved, "replay", lambda *given: replays.append(given))
    with pytest.raises(Refused, match="20000000 pairs"):
        proved.replayed(program, goal_of(verdict), AllPairs(), Limits())
    assert not replays
