"""Single courses of a program: where a state goes from one place to the next, and what it becomes.

Assignments and branches are followed here. Whoever follows courses says what a state is, how a
condition comes out in it, and how it goes on at a draw, a choice, a loop or an exit: in one or more
ways, or not at all, for it stops there. Where a condition has no single answer the state falls
into parts, all of which are followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any, NamedTuple, Protocol, TypeVar, assert_never

from dipapprox.language import core
from dipapprox.linear.form import LinearForm
from dipapprox.semantics.evaluation import Forms, Values, evaluate, names_compare

S = TypeVar("S")


class Frame(NamedTuple):
    """The place of a statement in a block, and of the one that follows the block, if one does."""

    block: core.Block
    place: int = 0
    outer: Frame | None = None

    @property
    def statement(self) -> core.Statement:
        """What stands there."""
        return self.block[self.place]

    def after(self) -> Frame | None:
        """Return the place after the statement; None at the end."""
        if self.place + 1 < len(self.block):
            return Frame(self.block, self.place + 1, self.outer)
        return self.outer

    def frames(self) -> Iterator[Frame]:
        """Yield the places in all open blocks, the innermost first."""
        frame: Frame | None = self
        while frame is not None:
            yield frame
            frame = frame.outer

    def key(self) -> tuple[int, ...]:
        """Equal for equal places."""
        return tuple([n for each in self.frames() for n in (id(each.block), each.place)])


def into(block: core.Block, outer: Frame | None) -> Frame | None:
    """Return the beginning of a block, or of what follows an empty one."""
    return Frame(block, 0, outer) if block else outer


Way = tuple[Frame | None, S]  # a place to go on from, None for the end, and the state there


class Parted(Exception):
    """A condition has no single answer in a state, but in each of its parts."""

    def __init__(self, parts: Sequence[Any]) -> None:
        super().__init__()
        self.parts = parts


class Follower(Protocol[S]):
    """Says what statements do with a state."""

    def assign(self, statement: core.Assign, state: S) -> S:
        """Return the state after an assignment; the one before is used up."""

    def decides(self, statement: core.If, state: S) -> bool:
        """Whether the condition of a branch holds.

        Raises:
            Parted: If it has no single answer.
        """

    def go_on(self, here: Frame, state: S) -> list[Way[S]] | None:
        """Return how a state goes on at another statement; None if its course stops before it.

        Raises:
            Parted: If a condition there has no single answer.
        """


def follow(follower: Follower[S], start: Frame | None, state: S) -> Iterator[Way[S]]:
    """Follow the courses from a place; yield where they stop, in the order of their parts."""
    waiting: list[Way[S]] = [(start, state)]
    while waiting:
        here, state = waiting.pop()
        try:
            while here is not None:
                statement = here.block[here.place]
                match statement:
                    case core.Assign():
                        state = follower.assign(statement, state)
                        here = here.after()
                    case core.If(_, then, otherwise):
                        taken = then if follower.decides(statement, state) else otherwise
                        here = into(taken, here.after())
                    case _:
                        ways = follower.go_on(here, state)
                        if ways is None:
                            break
                        (here, state), *others = ways
                        waiting += reversed(others)
        except Parted as parted:
            waiting += [(here, part) for part in reversed(parted.parts)]
            continue
        yield here, state


class SingleValues(Values, Protocol):
    """A state in which conditions have a single answer, or which falls into parts."""

    def compare(self, difference: LinearForm, node: core.Comparison) -> bool:
        """Whether a comparison holds: of `difference`, a form with symbols, with 0.

        Raises:
            Parted: If it has no single answer.
        """


def holds(forms: Forms, condition: core.Condition, state: SingleValues) -> bool:
    """Whether a condition holds; what is not needed for that is not evaluated."""
    match condition:
        case core.Comparison(left, relation, right):
            first, second = evaluate(forms, left, state), evaluate(forms, right, state)
            if isinstance(first, str) or isinstance(second, str):
                return names_compare(condition, first, second)
            if not first.terms and not second.terms:
                return relation.holds(first.constant, second.constant)
            difference = first - second
            if not difference.terms:
                return relation.holds(difference.constant, _ZERO)
            return state.compare(difference, condition)
        case core.All(parts):
            return all(holds(forms, part, state) for part in parts)
        case core.Any(parts):
            return any(holds(forms, part, state) for part in parts)
        case _:
            assert_never(condition)


_ZERO = Fraction(0)
