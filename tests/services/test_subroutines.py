"""Idealised steps replaced by subroutines: the same laws, so the same losses (theorem 1)."""

from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.errors import UserError
from dipapprox.limits import Limits
from dipapprox.services.implementation import prove_implementation
from dipapprox.services.model import AskedService
from dipapprox.services.prove_service import find_loss
from tests.cli.running import run, run_json
from tests.services.examples import proof_of, service_of
from tests.texts import text_of

SAMPLER = text_of("literature/truncated_geometric")
PRINTED = text_of("literature/truncated_geometric_printed")

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


def with_sampler(sampler: str = SAMPLER) -> str:
    """The service that answers by the sampler of the paper, a loop of coins."""
    body = sampler[sampler.index("negative <-") :].replace("\n", "\n        ")
    for name, other in (("count", "value"), ("n <-", "noise <-"), ("+ n", "+ noise")):
        body = body.replace(name, other)
    # State cells of the service have other names.
    body = body.replace("left", "rest")
    return SERVICE.replace("SAMPLE", "value <- n\n        " + body)


def with_clamp() -> str:
    """The service that answers by a clamped sample."""
    return SERVICE.replace("SAMPLE", "reply <- clamp(DLap(n, 1 / eps), 0, 2*m)")


def test_the_command_shows_that_one_implements_the_other(tmp_path: Path) -> None:
    (tmp_path / "sampler.dpg").write_text(with_sampler())
    (tmp_path / "ideal.dpg").write_text(with_clamp())
    files = [str(tmp_path / f"{name}.dpg") for name in ("sampler", "ideal")]
    words = ("prove", files[0], "--implements", files[1])
    status, fields = run_json(*words)
    assert (status, fields["program"], fields["least_budget"]["upper"]) == (0, "sampler", "2")
    status, text = run(*words, "--budget", "2")
    assert status == 0
    assert "every reply and next state has the same law" in text
    other = str(tmp_path / "other.dpg")
    Path(other).write_text(with_clamp().replace("DLap(n, 1 / eps)", "DLap(n, 2 / eps)"))
    status, fields = run_json("prove", files[0], "--implements", other)
    assert (status, fields["verdict"]) == (3, "Unknown")
    assert "does not implement other: in state (0, 2), at 'count'" in fields["reason"]
    Path(other).write_text(with_clamp().replace("left", "rest"))
    with pytest.raises(UserError, match="differ in their state cells"):
        prove_implementation(
            service_of(with_sampler()), service_of(Path(other).read_text()), None, (), Limits()
        )


def test_the_printed_sampler_is_refused_for_every_eps() -> None:
    """For large eps it is no probability; m = 2 runs its wrong line."""
    with pytest.raises(UserError, match="probability"):
        proof_of(with_sampler(PRINTED), m=2)


def test_the_printed_sampler_loses_too_much_at_one_eps() -> None:
    """Once asked, at eps = 1/4 and m = 2, it loses as much as its header says, 1.58 to 1.59."""
    text = with_sampler(PRINTED).replace("0..2 <- 2", "0..2 <- 1")
    service = service_of(text, {"m": 2})
    loss = find_loss(AskedService(service, Limits(), Fraction(1, 4)))
    assert loss.is_known
    assert Fraction(158, 100) < loss.lower / 4 <= loss.upper / 4 < Fraction(159, 100)


def test_services_with_either_lose_the_same() -> None:
    for text in (with_sampler(), with_clamp()):
        proof = proof_of(text, m=1)
        assert proof.is_exact
        assert proof.upper == 2
