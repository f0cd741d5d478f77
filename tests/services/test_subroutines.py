"""Idealised steps replaced by subroutines: the same laws, so the same losses (theorem 1)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dipapprox.language.load import BUNDLED
from dipapprox.limits import Limits
from dipapprox.services.model import Step
from dipapprox.services.publishing import spelled_out
from dipapprox.services.system import BY_VALUE, System, merged
from tests.services.examples import proof_of, service_of

SAMPLER = (BUNDLED / "literature" / "truncated_geometric.dpg").read_text(encoding="utf-8")

SERVICE = """
param m = 1
state n in 0..2*m <- 0
state left in 0..2 <- 2
output reply in {0, 1, 2, 3, 4, stop}
on data d in {0, 1} do
    if n < 2*m then n <- n + d end
end
on query count do
    if left = 0 then
        reply <- stop
    else
        left <- left - 1
        SAMPLE
    end
end
"""


def with_sampler() -> str:
    """The service that answers by the sampler of the paper, a loop of coins."""
    body = SAMPLER[SAMPLER.index("negative <-") :].replace("\n", "\n        ")
    for name, other in (("count", "value"), ("n <-", "noise <-"), ("+ n", "+ noise")):
        body = body.replace(name, other)
    # State cells of the service have other names.
    body = body.replace("left", "rest")
    return SERVICE.replace("SAMPLE", "value <- n\n        " + body)


def with_clamp() -> str:
    """The service that answers by a clamped sample."""
    return SERVICE.replace("SAMPLE", "reply <- clamp(DLap(n, 1 / eps), 0, 2*m)")


def explicit(step: Step) -> Step:
    return merged([each for outcome in step for each in spelled_out(outcome)])


@pytest.mark.parametrize("m", [1, 2])
def test_the_sampler_implements_the_mechanism(m: int) -> None:
    systems = [
        System(service_of(text, {"m": m}), BY_VALUE, False, Limits())
        for text in (with_sampler(), with_clamp())
    ]
    (call,) = [call for call in systems[0].calls if not call.is_data]
    for n in range(2 * m + 1):
        state = Fraction(n), Fraction(2)
        laws = [
            {o.reply: o.probability for o in explicit(system.step(state, call))}
            for system in systems
        ]
        assert laws[0].keys() == laws[1].keys()
        for reply, probability in laws[0].items():
            assert not (probability - laws[1][reply]).numerator


def test_services_with_either_lose_the_same() -> None:
    for text in (with_sampler(), with_clamp()):
        proof = proof_of(text, m=1)
        assert proof.is_exact
        assert proof.upper == 2
