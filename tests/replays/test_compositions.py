"""Certificates of compositions, without `proved`: what has none says so."""

from __future__ import annotations

import pytest

import dipapprox
from dipapprox import Outcome
from dipapprox.errors import NoCertificate

RUNS = [{"mechanism": "gaussian", "sigma": 4, "subsample": "1/10", "times": 10}]


def test_claims_and_intervals_have_proofs() -> None:
    pipeline = dipapprox.compose(RUNS)
    for answer in (pipeline.verify("1/2", "1/1000"), pipeline.delta("1/2")):
        assert answer.replayed is None
        certificate = pipeline.certify(answer)
        assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED


def test_an_end_of_which_no_line_tells_leaves_the_other_one_proved() -> None:
    """Of one run of an exponential mechanism lines may be those of all or of nothing."""
    pipeline = dipapprox.compose([{"mechanism": "exponential_mechanism", "eps": "3/10"}])
    certificate = pipeline.certify(pipeline.epsilon("1/100"))
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED


def test_curves_have_none() -> None:
    pipeline = dipapprox.compose(RUNS)
    with pytest.raises(NoCertificate, match="no rule for curves"):
        pipeline.certify(pipeline.curve(0, 1, 3))
