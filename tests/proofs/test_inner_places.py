"""Lower bounds between inputs that are no ends of bounds, and lie near no ray."""

from __future__ import annotations

import pytest

import dipapprox
from dipapprox.replays.result import Outcome

HEAD = "output out in {0, 1, 2}\nadjacent linf 1\n"

HALVES = """
input q in real
r <- Lap(q, 4 / eps)
s <- Lap(0, 3 / eps)
if s < 0 then
  if r >= 1 then out <- 1 else out <- 0 end
else
  if r >= s then out <- 0 else out <- 1 end
end
"""
FROM_THE_MIDDLE = """
input q in real 0..2
r <- Lap(q + 1, 3 / eps)
s <- Lap(q, 3 / eps)
if r >= 2 then out <- 0 elif s >= r then out <- 1 elif s < 1 then out <- 0 else out <- 2 end
"""


@pytest.mark.parametrize("text", [HALVES, FROM_THE_MIDDLE])
def test_their_certificates_are_confirmed(text: str) -> None:
    line, _, body = text.strip().partition("\n")
    text = f"{line}\n{HEAD}{body}\n"
    proof = dipapprox.prove(dipapprox.parse(text))
    certificate = dipapprox.certify(dipapprox.parse(text), text, proof)
    assert dipapprox.check(certificate.to_json()).outcome is Outcome.CONFIRMED
