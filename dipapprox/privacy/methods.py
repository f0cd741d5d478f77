"""Tables of methods: who is asked, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from dipapprox.data_classes import dataclass


class OpenQuestion(Protocol):
    """A question, and what is known of its answer by now."""

    @property
    def is_open(self) -> bool:
        """Whether methods may still add to the answer."""


Asking = TypeVar("Asking", bound=OpenQuestion)


@dataclass(frozen=True, slots=True)
class Consultation(Generic[Asking]):
    """A row of a table."""

    method: str
    applies: Callable[[Asking], bool]  # whether it is asked, from what is known by then
    ask: Callable[[Asking], None]  # adds what it finds to what is known


def consult(rows: Sequence[Consultation[Asking]], question: Asking) -> None:
    """Ask the methods of a table in their order while the question is open."""
    for row in rows:
        if question.is_open and row.applies(question):
            row.ask(question)


def always(_: object) -> bool:
    """Whether a method applies that always does."""
    return True
