"""Methods: events in, enclosures of their probabilities out; several of them tried in order.

Which kind of event is for which method, it says by `is_sum`, `has_density` and so on.

    batch -> first method -> what it does not cover or leaves too wide -> the next -> … -> answers

What no method encloses gets the reasons of all that were tried.

`Answers` are what is known of a batch of events: most enclosures are still doubles in them. In:
places of events and proved bounds. Out: an `Enclosure` or a `NotEnclosed` for every event, made
when it is asked for; or, for bulk work, the arrays themselves.

Mixtures. Σ count · Π Pr[event]^power: if every event is enclosed to 2**-b, and there are k events
in each of n disjoint events, the sum is enclosed to n·k·2**-b: events are asked for with as many
more bits. Sums and products are exact.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from fractions import Fraction
from math import prod
from typing import Protocol, TypeGuard, assert_never

import numpy as np
from numpy.typing import NDArray

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, enclosing, sure
from dipapprox.arithmetic.rounding import above, below
from dipapprox.data_classes import Record, field
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import Chosen, Connected, Event, Mixture, Star, count_samples, laws_of
from dipapprox.limits import at_most, check_limits


class Tier(Enum):
    """Which algebras may be used; the value is the word on the command line."""

    AUTO = "auto"
    FLOAT64 = "float64"
    BALLS = "balls"


def as_continuous(event: Connected) -> Event | Star | NotEnclosed:
    """Return an event that has densities as it is, or say why it is for the exact layer only.

    Guards between integers are cut between two values: integrating densities instead would give a
    confident wrong number.
    """
    match event:
        case Chosen():
            return NotEnclosed(
                "a choice among finitely many outcomes is not an integral: only exactly"
            )
        case Mixture():
            return NotEnclosed("many events added up are not one integral")
        case Event() | Star() if any(law.family.is_discrete for law in laws_of(event)):
            return NotEnclosed("integer samples have no density: their probabilities are sums")
        case Event() | Star():
            return event
        case _:
            assert_never(event)


def is_sum(event: Connected) -> TypeGuard[Event | Star]:
    """Whether all samples of an event are integers: its probability is a sum."""
    if isinstance(event, Chosen | Mixture):
        return False
    if isinstance(event, Star) and not event.centre.family.is_discrete:
        return False  # the most frequent case
    return all(law.family.is_discrete for law in laws_of(event))


def is_discrete(event: Connected) -> bool:
    """Whether an event is a choice, or all its samples are integers."""
    return isinstance(event, Chosen) or is_sum(event)


def is_ratio(event: Connected) -> bool:
    """Whether an event is discrete, and its probability a ratio of exponential polynomials."""
    return isinstance(event, Chosen) or (
        is_sum(event) and all(law.family.is_exponential for law in laws_of(event))
    )


def has_density(event: Connected) -> bool:
    """Whether an event is an integral: some sample is continuous."""
    return not isinstance(event, Mixture) and not is_discrete(event)


def is_mixture(event: Connected) -> TypeGuard[Mixture]:
    return isinstance(event, Mixture)


def is_laplace_type(event: Connected) -> TypeGuard[Event | Star]:
    """Whether all samples of an event are Laplace or one-sided exponential ones."""
    return not isinstance(event, Chosen | Mixture) and all(
        law.family.is_exponential and not law.family.is_discrete for law in laws_of(event)
    )


def is_gaussian(event: Connected) -> TypeGuard[Event | Star]:
    return not isinstance(event, Chosen | Mixture) and all(
        law.family.is_normal for law in laws_of(event)
    )


def has_sums(event: Connected) -> TypeGuard[Event]:
    """Whether a guard of an event is about more than two samples."""
    return isinstance(event, Event) and any(len(guard.terms) > 2 for guard in event.guards)


Answer = Enclosure | NotEnclosed


class Answers:
    """What is known of the probabilities of events, by position; read like a sequence.

    Attributes:
        lower: Proved lower bounds of the probabilities, doubles in [0, 1] as `rounding` has them.
        upper: Proved upper bounds likewise.
        sharper: Enclosures that say more than the doubles, by position.
        reasons: Why events are not enclosed, or no more narrowly, by position.
    """

    __slots__ = ("_enclosed", "lower", "reasons", "sharper", "upper")

    def __init__(self, count: int) -> None:
        self.lower = np.zeros(count)
        self.upper = np.ones(count)
        self.sharper: dict[int, Enclosure] = {}
        self.reasons: dict[int, str] = {}
        self._enclosed = np.zeros(count, np.bool_)

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Answers:
        """Collect answers that were given one by one."""
        found = cls(len(answers))
        for place, answer in enumerate(answers):
            found[place] = answer
        return found

    @classmethod
    def joined(cls, parts: Iterable[tuple[Sequence[int], Answers]], count: int) -> Answers:
        found = cls(count)
        for places, part in parts:
            found.update(places, part, "")
        return found

    def bound(
        self, places: NDArray[np.int64], lower: NDArray[np.float64], upper: NDArray[np.float64]
    ) -> None:
        """Answer some events by proved bounds in [0, 1], 0 or at least the floor of `rounding`."""
        self.lower[places], self.upper[places] = lower, upper
        self._enclosed[places] = True

    def update(self, places: Sequence[int], part: Answers, source: str) -> None:
        """Learn the answers to some events: enclosures meet, a reason does not undo one.

        Args:
            places: Positions of these events here.
            source: Says who answers, for the message of a contradiction.
        """
        chosen = np.asarray(places, np.int64)
        lower = np.maximum(self.lower[chosen], part.lower)
        upper = np.minimum(self.upper[chosen], part.upper)
        plain = lower <= upper  # what contradicts is learnt one by one, too: that says how
        plain[list(part.sharper)] = False
        plain[[k for k, place in enumerate(places) if place in self.sharper]] = False
        plain &= part._enclosed
        self.bound(chosen[plain], lower[plain], upper[plain])
        for k in np.flatnonzero(part._enclosed & ~plain).tolist():
            self[places[k]] = self.enclosure(places[k]).intersect(part.enclosure(k), source)
        for place in self.reasons.keys() & set(chosen[plain].tolist()):
            del self.reasons[place]
        self.reasons.update(
            (places[k], reason) for k, reason in part.reasons.items() if not part.encloses(k)
        )

    def grow(self, size: int) -> None:
        """Make room for so many events, and for others at the end."""
        spare = max(size, 2 * len(self)) - len(self)
        if size > len(self):
            self.lower = np.concatenate([self.lower, np.zeros(spare)])
            self.upper = np.concatenate([self.upper, np.ones(spare)])
            self._enclosed = np.concatenate([self._enclosed, np.zeros(spare, np.bool_)])

    def encloses(self, place: int) -> bool:
        """Whether an event has been enclosed, however widely."""
        return bool(self._enclosed[place])

    def enclosure(self, place: int) -> Enclosure:
        """What is known of an event; [0, 1] if nothing."""
        found = self.sharper.get(place)
        if found is not None:
            return found
        return Enclosure(Fraction(float(self.lower[place])), Fraction(float(self.upper[place])))

    def wide(self, bits: int, among: NDArray[np.int64] | slice = slice(None)) -> list[int]:
        """The places, ascending, of events that are not enclosed to 2**-bits."""
        wanted, sharper = Fraction(1, 2**bits), self.sharper
        places = np.arange(len(self))[among]
        places = places[self.upper[places] - self.lower[places] > 2.0**-bits]
        return [p for p in places.tolist() if p not in sharper or sharper[p].width > wanted]

    def __len__(self) -> int:
        return len(self.lower)

    def __getitem__(self, place: int) -> Answer:
        if self._enclosed[place]:
            return self.enclosure(place)
        if place not in self.reasons:
            raise BrokenInvariant("an event without answer")
        return NotEnclosed(self.reasons[place])

    def __setitem__(self, place: int, answer: Answer) -> None:
        if isinstance(answer, NotEnclosed):
            self.reasons[place] = answer.reason
            return
        self.reasons.pop(place, None)
        self.sharper[place] = answer
        self.lower[place], self.upper[place] = below(answer.lower), above(answer.upper)
        self._enclosed[place] = True

    def __iter__(self) -> Iterator[Answer]:
        return map(self.__getitem__, range(len(self)))

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Answers) else NotImplemented


class Method(Protocol):
    """A way to enclose the probabilities of connected, reduced events."""

    @property
    def name(self) -> str:
        """The word in reports: "nested", "elimination", …"""

    def enclose(self, events: Sequence[Connected], bits: int) -> Answers:
        """Enclose Pr[event] for every event; a batch may share work.

        Args:
            events: Normal forms (`events.canonical`), distinct.
            bits: Wanted width: at most 2**-bits (best effort; the enclosures are proved anyway).

        Returns:
            For every event, in order, an enclosure inside [0, 1] or the reason why there is none;
            in bulk as doubles.
        """


class EventByEvent(ABC):
    """A `Method` that computes event by event."""

    name: str

    @abstractmethod
    def one(self, event: Connected, bits: int) -> Answer:
        """Enclose Pr[event] to 2**-bits, or say why not."""

    def enclose(self, events: Sequence[Connected], bits: int) -> Answers:
        answers = []
        for event in events:
            check_limits()
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
        answered = [each for each in self._steps if each.answered]
        telling = [each for each in answered if not each.trivial] or answered
        return " + ".join(dict.fromkeys(_method(each).name for each in telling)) or self._name

    def enclose(self, events: Sequence[Connected], bits: int) -> Answers:
        batch, left = _Batch(events, bits, Answers(len(events))), list(range(len(events)))
        found = batch.found
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
    found: Answers
    reasons: dict[int, dict[str, str]] = field(default_factory=dict)


def _ask(step: TriedMethod, places: Sequence[int], batch: _Batch) -> None:
    """Ask a method about some events, a slow one for each event within so many steps."""
    if not step.steps:
        events = [batch.events[place] for place in places]
        _learn(step, places, _method(step).enclose(events, batch.bits), batch)
        return
    for place in places:
        most = step.steps // _AGAIN if batch.found.encloses(place) else step.steps
        try:
            answers = _alone(step, batch.events[place], most, batch)
        except LimitReached as reached:
            before = _listed(batch.reasons.get(place, {}))
            reason = f"{reached.reason} ({before})" if before else reached.reason
            raise LimitReached(reason, batch.events[place]) from None
        _learn(step, (place,), answers, batch)


def _alone(step: TriedMethod, event: Connected, most: int, batch: _Batch) -> Answers:
    """Enclose one event within so many steps, unless one no harder took more."""
    bits = batch.bits
    check_limits()
    samples = 0 if isinstance(event, Chosen | Mixture) else count_samples(event)
    if any(samples >= n and bits >= b and most <= steps for n, b, steps in step.failures):
        return Answers.of((NotEnclosed("not tried, a component no larger took too long"),))
    try:
        with at_most(most):
            return _method(step).enclose((event,), bits)
    except LimitReached as reached:
        check_limits()  # all of the time or the memory is gone
        step.failures.append((samples, bits, most))
        return Answers.of((NotEnclosed(reached.reason),))


def _learn(step: TriedMethod, places: Sequence[int], part: Answers, batch: _Batch) -> None:
    name = _method(step).name
    batch.found.update(places, part, name)
    obstacles = {k: reason for k, reason in part.reasons.items() if not part.encloses(k)}
    for k, reason in obstacles.items():
        batch.reasons.setdefault(places[k], {})[name] = reason
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
        return self._method.name

    def enclose(self, events: Sequence[Connected], bits: int) -> Answers:
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
            found.update(zip(batch, self._method.enclose(batch, need), strict=True))
        return Answers.of([_sum(mixture, found) for mixture in mixtures])


@enclosing
def _sum(mixture: Mixture, found: dict[Event | Star, Answer]) -> Enclosure:
    lower = upper = Fraction(0)
    for count, factors in mixture.terms:
        powers = [(sure(found[factor]), power) for factor, power in factors]
        lower += count * prod((each.lower**power for each, power in powers), start=Fraction(1))
        upper += count * prod((each.upper**power for each, power in powers), start=Fraction(1))
    return Enclosure(lower, upper).intersect(UNIT, "mixtures")
