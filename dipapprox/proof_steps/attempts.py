"""Proofs that are tried: what they come to, or what kept them from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dipapprox.data_classes import dataclass
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.kernel.errors import NotProved
from dipapprox.privacy.verdict import Answer, Replayed

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True)
class NoProof:
    """Why the kernel has no proof.

    Attributes:
        ended: Whether a limit was reached, or somebody interrupted: nothing else need be tried.
    """

    missing: str
    ended: bool = False
    interrupted: bool = False  # whether it was Ctrl-C

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


class Attempts:
    """Proofs that are tried for one answer, until a limit is reached.

    Attributes:
        replayed: All that the kernel has replayed; None if nothing.
        ended: What ended the search; None if nothing did.
    """

    def __init__(self) -> None:
        self.replayed: Replayed | None = None
        self.ended: str | None = None

    def obstacle(self, prove: Callable[[], Replayed]) -> str | None:
        """Try a proof; return what kept it from being replayed, None if nothing did."""
        if self.ended is not None:
            return self.ended
        found = attempted(prove)
        if not isinstance(found, NoProof):
            self.replayed = found if self.replayed is None else self.replayed + found
            return None
        if found.interrupted:
            raise KeyboardInterrupt
        self.ended = found.missing if found.ended else None
        return found.missing
