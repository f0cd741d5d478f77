"""Budgets of services, replayed: examples, random ones, and forgeries."""

from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given

from dipapprox import Answer
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.judgements import Budgets
from dipapprox.kernel.replay import replay
from dipapprox.proof_steps.machines import number_json
from dipapprox.replays.words import words_of
from tests.kernel.edits import places_in, require_sound, with_at
from tests.kernel.served import EXAMPLES, proof_for, written
from tests.services.strategies import services
from tests.texts import text_of
from tests.thorough import examples


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_replayed(name: str) -> None:
    text, least = EXAMPLES[name]
    judged = replay(*written(proof_for(text)))
    if least is None:
        assert judged == Budgets(None, None, at_any=False)
        assert "for no B at every eps > 0" in words_of(judged)
    else:
        assert judged == Budgets(least, least, at_any=False)


@examples(6)
@given(services())
def test_random_services_are_replayed(text: str) -> None:
    are_replayed(text)


def are_replayed(text: str) -> None:
    """Replay the proof of a service, of just what was found."""
    proof = proof_for(text)
    if proof.answer is Answer.UNKNOWN:
        return
    judged = replay(*written(proof))
    if proof.has_none:
        assert judged == Budgets(None, None, at_any=False)
    elif proof.lower:
        assert judged == Budgets(proof.upper, proof.lower, at_any=False)
    else:
        assert judged == Budgets(proof.upper)


def test_a_claimed_budget_that_is_too_small_is_refuted() -> None:
    for name in ("counted", "coin", "never ends", "hidden"):
        budget = Fraction(1, 2)
        proof = proof_for(EXAMPLES[name][0], budget=budget)
        assert proof.answer is Answer.NOT_DP
        judged = replay(*written(proof))
        assert isinstance(judged, Budgets)
        assert judged.below is None or judged.below > budget


@pytest.mark.parametrize(("users", "least"), [((), 3), (("alice",), 2), (("bob",), 1)])
def test_those_who_do_not_see_replies_learn_less(users: tuple[str, ...], least: int) -> None:
    text = text_of("services/users")
    judged = replay(*written(proof_for(text, *users)))
    assert judged == Budgets(Fraction(least, 2), Fraction(least, 2), at_any=False)


# --- forgeries -----------------------------------------------------------------------------------

EXACT = [name for name, (_, least) in EXAMPLES.items() if least is not None]
NONE = [name for name, (_, least) in EXAMPLES.items() if least is None]


@pytest.mark.parametrize("name", EXACT)
def test_no_forged_service_proves_what_is_false(name: str) -> None:
    require_sound(*written(proof_for(EXAMPLES[name][0])), name)


@pytest.mark.parametrize("name", EXACT)
def test_what_may_be_lost_is_no_less_anywhere(name: str) -> None:
    """V of every point is the length of a longest path: less, or a point less, proves nothing."""
    machine, _, steps = written(proof_for(EXAMPLES[name][0]))
    (at,) = (k for k, step in enumerate(steps) if step["rule"] == "couplings")
    claim = {"verdict": "DP", "budget": 1000, "at least": None}
    step, before = steps[at], steps[:at]
    forged = [{**step, "budget": number_json(Fraction(step["budget"]) * Fraction(99, 100))}]
    for number, (one, other, points, groups) in enumerate(step["pairs"]):
        for place, (shifts, value) in enumerate(points):
            less = Fraction(value) * Fraction(99, 100)
            if less:
                own = with_at(points, (place,), [shifts, number_json(less)])
                forged.append(with_at(step, ("pairs", number), [one, other, own, groups]))
        forged.append({**step, "pairs": step["pairs"][:number] + step["pairs"][number + 1 :]})
    for number in range(len(step["changes"])):
        fewer = step["changes"][:number] + step["changes"][number + 1 :]
        forged.append({**step, "changes": fewer})
    for each in forged:
        with pytest.raises(NotProved):
            replay(machine, claim, [*before, each])


@pytest.mark.parametrize("name", ["counted", "decided", "real", "slots"])
def test_the_machine_is_the_one_that_was_meant(name: str) -> None:
    """With less noise, another change or other cells at first the same steps prove nothing."""
    machine, claim, steps = written(proof_for(EXAMPLES[name][0]))
    scales = [at for at, value in places_in(machine) if is_scale(at, value)]
    edits = [with_at(machine, (*at, 0), number_json(Fraction(1, 9))) for at in scales]
    edits.append({**machine, "change": "replace"})
    edits.append(with_at(machine, ("cells", 0, 1), 7))
    edits.append(with_at(machine, ("calls", 1, "seen"), False))
    for edited in edits:
        with pytest.raises(NotProved):
            replay(edited, claim, steps)


def is_scale(at: tuple[Any, ...], value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and value[1] == -1 and at[-1] == 4
