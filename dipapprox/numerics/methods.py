"""Methods: events in, enclosures of their probabilities out; several of them tried in order.

    batch -> first method -> what it does not cover or leaves too wide -> the next -> … -> answers

What no method encloses gets the reasons of all that were tried.

`Answers` are what a method says of a batch of events: most enclosures are still doubles in them.
In: places of events and proved bounds. Out: an `Enclosure` or a `NotEnclosed` for every event, made
when it is asked for; or, for bulk work, the arrays themselves.

Mixtures. Σ count · Π Pr[event]^power: if every event is enclosed to 2**-b, and there are k events
in each of n disjoint events, the sum is enclosed to n·k·2**-b: events are asked for with as many
more bits. Sums and products are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, better, enclosing, sure
from dipapprox.data_classes import Record, field
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Chosen, Connected, Event, Mixture, Star, count_samples
from dipapprox.limits import Limits

Answer = Enclosure | NotEnclosed


class Answers:
    """The answers to a batch of events, by position; read like a sequence.

    Attributes:
        lower: Proved lower bounds of the probabilities, doubles in [0, 1] as `rounding` has them.
        upper: Proved upper bounds likewise.
        others: Answers that are not just doubles, by position; there the arrays say [0, 1].
    """

    __slots__ = ("_given", "lower", "others", "upper")

    def __init__(self, count: int) -> None:
        self.lower = np.zeros(count)
        self.upper = np.ones(count)
        self.others: dict[int, Answer] = {}
        self._given = np.zeros(count, np.bool_)

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Answers:
        """Collect answers that were given one by one."""
        found = cls(len(answers))
        for place, answer in enumerate(answers):
            found[place] = answer
        return found

    @classmethod
    def joined(cls, parts: Iterable[tuple[Sequence[int], Answers]], count: int) -> Answers:
        """Put parts of a batch together."""
        found = cls(count)
        for places, part in parts:
            found.bound(np.asarray(places, np.int64), part.lower, part.upper)
            found.others.update((places[k], answer) for k, answer in part.others.items())
        return found

    def bound(
        self, places: NDArray[np.int64], lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> None:
        """Answer some events by proved bounds in [0, 1], 0 or at least the floor of `rounding`."""
        self.lower[places], self.upper[places] = lower, upper
        self._given[places] = True

    def update(self, places: Sequence[int], part: Answers, source: str) -> None:
        """Learn the answers to some events: enclosures meet, a reason does not undo one.

        Args:
            places: Positions of these events here.
            source: Says who answers, for the message of a contradiction.
        """
        chosen = np.asarray(places, np.int64)
        known = self._given[chosen]
        if not known.any():
            self.bound(chosen, part.lower, part.upper)
            self.others.update((places[k], answer) for k, answer in part.others.items())
            return
        for place, answer in zip(places, part, strict=True):
            before = self[place] if self.encloses(place) else None
            if before is None or isinstance(answer, Enclosure):
                self[place] = better(before, answer, source)

    def encloses(self, place: int) -> bool:
        """Whether an event has been enclosed, however widely."""
        return bool(self._given[place]) and not isinstance(self.others.get(place), NotEnclosed)

    def unanswered(self) -> list[int]:
        """The places of events without any answer."""
        places: list[int] = np.flatnonzero(~self._given).tolist()
        return places

    def wide(self, bits: int) -> list[int]:
        """The places, ascending, of events that are not enclosed to 2**-bits."""
        places = set(np.flatnonzero(self.upper - self.lower > 2.0**-bits).tolist())
        wanted = Fraction(1, 2**bits)
        narrow = (isinstance(a, Enclosure) and a.width <= wanted for a in self.others.values())
        places.difference_update(p for p, yes in zip(self.others, narrow, strict=True) if yes)
        return sorted(places)

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, place: int) -> Answer:
        found = self.others.get(place)
        if found is not None:
            return found
        if not self._given[place]:
            raise BrokenInvariant("an event without answer")
        return Enclosure(Fraction(float(self.lower[place])), Fraction(float(self.upper[place])))

    def __setitem__(self, place: int, answer: Answer) -> None:
        self.others[place] = answer
        self.lower[place], self.upper[place] = 0.0, 1.0
        self._given[place] = True

    def __iter__(self) -> Iterator[Answer]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Answers) else NotImplemented


class Method(Protocol):
    """A way to enclose the probabilities of connected, reduced events."""

    @property
    def name(self) -> str:
        """The word in reports: "nested", "elimination", …"""

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every event; a batch may share work.

        Args:
            events: Normal forms (`events.canonical`), distinct.
            bits: Wanted width: at most 2**-bits (best effort; the enclosures are proved anyway).

        Returns:
            For every event, in order, an enclosure inside [0, 1] or the reason why there is none;
            in bulk as doubles.
        """


class EventByEvent(Record):
    """A method that computes event by event, and remembers nothing."""

    name: str  # the word in reports
    # encloses the probability of an event to 2**-bits, in microseconds; else says why not
    one: Callable[[Connected, int], Answer]

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every event; see `Method.enclose`."""
        answers = []
        for event in events:
            limits.check()
            answers.append(self.one(event, bits))
        return Answers.of(answers)


class TriedMethod(Record, frozen=False, eq=False):
    """A method among others, and what has become of it."""

    make: Callable[[], Method]  # makes the method, when its first event comes
    covers: Callable[[Connected], bool]  # whether an event is for it
    narrows: bool = True  # whether it also gets events that are enclosed already, but too widely
    # if not 0, it gets events one by one, each within so many steps (`Limits.within`): an event out
    # of reach does not take the time of all others
    steps: int = 0
    trivial: bool = False  # whether reports leave it out as soon as another method has answered
    method: Method | None = None  # None as long as it has not been made
    answered: bool = False  # whether it has enclosed anything
    # samples and bits of events that took too long, and the most steps for each
    failures: list[tuple[int, int, int]] = field(default_factory=list)


class InOrder:
    """Methods tried one after the other: each gets what those before it left open."""

    def __init__(self, steps: Sequence[TriedMethod], name: str) -> None:
        self._steps = steps
        self._name = name

    @property
    def name(self) -> str:
        """The words of what has answered."""
        answered = [each for each in self._steps if each.answered]
        telling = [each for each in answered if not each.trivial] or answered
        return " + ".join(dict.fromkeys(_method(each).name for each in telling)) or self._name

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every event; see `Method.enclose`."""
        found, left = Answers(len(events)), list(range(len(events)))
        batch = _Batch(events, bits, limits, found)
        for step in self._steps:
            places = [
                place
                for place in left
                if step.covers(events[place]) and (step.narrows or not found.encloses(place))
            ]
            if places:
                _ask(step, places, batch)
                left = found.wide(bits)
        for place in left:
            if not found.encloses(place):
                found[place] = _obstacle(batch.reasons.get(place, {}))
        return found


def _method(step: TriedMethod) -> Method:
    if step.method is None:
        step.method = step.make()
    return step.method


_AGAIN = 30  # times less for an event that is enclosed already, but too widely


class _Batch(Record, eq=False):
    """Events, their answers so far, and by place the reasons of the methods that have none."""

    events: Sequence[Connected]
    bits: int
    limits: Limits
    found: Answers
    reasons: dict[int, dict[str, str]] = field(default_factory=dict)


def _ask(step: TriedMethod, places: Sequence[int], batch: _Batch) -> None:
    """Ask a method about some events, a slow one for each event within so many steps."""
    if not step.steps:
        events = [batch.events[place] for place in places]
        _learn(step, places, _method(step).enclose(events, batch.bits, batch.limits), batch)
        return
    for place in places:
        most = step.steps // _AGAIN if batch.found.encloses(place) else step.steps
        try:
            answer = _alone(step, batch.events[place], most, batch)
        except LimitReached as reached:
            before = _listed(batch.reasons.get(place, {}))
            reason = f"{reached.reason} ({before})" if before else reached.reason
            raise LimitReached(reason, batch.events[place]) from None
        _learn(step, (place,), Answers.of((answer,)), batch)


def _alone(step: TriedMethod, event: Connected, most: int, batch: _Batch) -> Answer:
    """Enclose one event within so many steps, unless one no harder took more."""
    bits, limits = batch.bits, batch.limits
    limits.check()
    samples = 0 if isinstance(event, Chosen | Mixture) else count_samples(event)
    if any(samples >= n and bits >= b and most <= steps for n, b, steps in step.failures):
        return NotEnclosed("not tried, a component no larger took too long")
    try:
        return _method(step).enclose((event,), bits, limits.within(most))[0]
    except LimitReached as reached:
        limits.check()  # all of the time or the memory is gone
        step.failures.append((samples, bits, most))
        return NotEnclosed(reached.reason)


def _learn(step: TriedMethod, places: Sequence[int], part: Answers, batch: _Batch) -> None:
    name = _method(step).name
    batch.found.update(places, part, name)
    obstacles = {k: each for k, each in part.others.items() if isinstance(each, NotEnclosed)}
    for k, obstacle in obstacles.items():
        batch.reasons.setdefault(places[k], {})[name] = obstacle.reason
    step.answered = step.answered or len(obstacles) < len(part)


def _obstacle(reasons: dict[str, str]) -> NotEnclosed:
    match [*dict.fromkeys(reasons.values())]:
        case []:
            return NotEnclosed("no engine covers it")
        case [reason]:
            return NotEnclosed(reason)
        case _:
            return NotEnclosed(f"no engine gives an enclosure ({_listed(reasons)})")


def _listed(reasons: dict[str, str]) -> str:
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())


class MixtureMethod:
    """Encloses mixtures by another method, which remembers nothing for it."""

    def __init__(self, make: Callable[[], Method]) -> None:
        self._method = make()

    @property
    def name(self) -> str:
        """The words of the other method."""
        return self._method.name

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] for every mixture; see `Method.enclose`."""
        mixtures = [event for event in events if isinstance(event, Mixture)]
        if len(mixtures) < len(events):
            raise BrokenInvariant("an event that is no mixture was taken for one")
        wanted: dict[Event | Star, int] = {}
        for mixture in mixtures:
            parts = sum(n * sum(power for _, power in factors) for n, factors in mixture.terms)
            for factor in (factor for _, factors in mixture.terms for factor, _ in factors):
                wanted[factor] = max(bits + parts.bit_length(), wanted.get(factor, 0))
        found: dict[Event | Star, Answer] = {}
        for need in sorted(set(wanted.values())):
            batch = [event for event, own in wanted.items() if own == need]
            found.update(zip(batch, self._method.enclose(batch, need, limits), strict=True))
        return Answers.of([_sum(mixture, found) for mixture in mixtures])


@enclosing
def _sum(mixture: Mixture, found: dict[Event | Star, Answer]) -> Enclosure:
    lower = upper = Fraction(0)
    for count, factors in mixture.terms:
        powers = [(sure(found[factor]), power) for factor, power in factors]
        lower += count * prod((each.lower**power for each, power in powers), start=Fraction(1))
        upper += count * prod((each.upper**power for each, power in powers), start=Fraction(1))
    return Enclosure(lower, upper).intersect(UNIT, "mixtures")
