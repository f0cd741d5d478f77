"""Proofs with something changed: what the kernel confirms is true, or it refuses."""

import random
from collections import Counter

import pytest

from dipapprox.kernel.replay import replay
from kernel.forgeries import names_of, outcome, proofs, random_change, repeated, single_changes
from kernel.small import SMALL
from tests.thorough import part

HONEST = proofs()
SOUND = {"refused", "true", "undecided"}


@pytest.mark.parametrize(("name", "proof"), HONEST, ids=[name for name, _ in HONEST])
def test_honest_proofs_are_confirmed_and_true(name, proof) -> None:
    assert outcome(proof) == "true"


def test_equal_turns_mean_what_they_mean_written_out() -> None:
    (vectors,) = (small for small in SMALL if small.name == "sparse vectors")
    for claim, steps in (vectors.private(vectors.above()), vectors.violated(vectors.below())):
        assert replay(repeated(), claim, steps) == replay(vectors.machine, claim, steps)


def test_a_change_is_noticed_or_makes_no_difference() -> None:
    """One change each, spread over all that there are."""
    counts: Counter[str] = Counter()
    for number, (name, proof) in enumerate(HONEST):
        for place, forged in enumerate(single_changes(proof)):
            if place % 463 == number % 463:
                found = outcome(forged)
                counts[found] += 1
                assert found in SOUND, (name, forged)
    assert counts["refused"] > 20
    assert counts["true"] > 1


def test_several_changes_are_noticed_or_make_no_difference() -> None:
    source, counts = random.Random(29), Counter[str]()
    for _ in part(range(120), 2):
        name, proof = source.choice(HONEST)
        names = names_of(proof[0])
        for _ in range(source.randint(2, 3)):
            proof = random_change(proof, source, names)
        found = outcome(proof)
        counts[found] += 1
        assert found in SOUND, (name, proof)
    assert counts["refused"] > 20
