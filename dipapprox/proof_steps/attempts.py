"""Proofs that are tried: what they come to, or what kept them from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dipapprox.data_classes import dataclass
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.privacy.verdict import Answer

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class NoProof:
    """Why the kernel has no proof.

    Attributes:
        ended: Whether a limit was reached, or somebody interrupted: nothing else need be tried.
        interrupted: Whether it was Ctrl-C.
    """

    missing: str
    ended: bool = False
    interrupted: bool = False

    def to(self, answer: Answer) -> str:
        """Say that an answer has no proof."""
        return f"found {answer.value}, but the kernel has no proof: {self.missing}"


def attempted(prove: Callable[[], Found]) -> Found | NoProof:
    """Return what a proof comes to, or what kept it from that."""
    missing = ""
    with EarlyEnd() as end:
        try:
            return prove()
        except NoCertificate as none:
            missing = none.missing
        except NotProved as obstacle:
            missing = str(obstacle)
    return NoProof(end.reason or missing, end.reason is not None, end.interrupted)
