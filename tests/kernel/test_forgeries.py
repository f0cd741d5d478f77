"""Proofs with something changed: what the kernel confirms is true, or it refuses."""

import random
from itertools import islice

import pytest

from dipapprox.kernel.replay import replay
from kernel import false_compositions
from kernel.false_compositions import PIPELINES, false_claims, forged
from kernel.forgeries import judged, outcome, proofs, repeated, several, spread
from kernel.small import SMALL
from tests.cases import THOROUGH, part

HONEST = proofs()


@pytest.mark.parametrize(("name", "proof"), HONEST, ids=[name for name, _ in HONEST])
def test_honest_proofs_are_confirmed_and_true(name, proof) -> None:
    assert outcome(proof) == "true"


def test_equal_turns_mean_what_they_mean_written_out() -> None:
    (vectors,) = (small for small in SMALL if small.name == "sparse vectors")
    for claim, steps in (vectors.private(vectors.above()), vectors.violated(vectors.below())):
        assert replay(repeated(), claim, steps) == replay(vectors.machine, claim, steps)


def test_changes_are_noticed_or_make_no_difference() -> None:
    counts = judged(spread(HONEST, 463))
    assert counts["refused"] > 20
    assert counts["true"] > 1
    assert judged(islice(several(HONEST, 29), 120 if THOROUGH else 60))["refused"] > 20


@pytest.mark.parametrize("name", part(list(PIPELINES), 3))
def test_no_forged_composition_proves_what_is_false(name) -> None:
    source = random.Random(name)
    claims = [*false_claims(name)]
    assert claims
    for claimed in claims:
        tried = [claimed[3], *(forged(claimed[3], source) for _ in range(40 if THOROUGH else 10))]
        assert {false_compositions.outcome(claimed, steps) for steps in tried} == {"refused"}
