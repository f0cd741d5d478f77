"""The method `sums`: probabilities of integer samples added up, to any accuracy.

    event -> inequalities Σ a_i z_i <= b
          -> samples that only occur in one proportion, in sums of three and more, become one
             variable: their sum
          -> a forest of comparisons of two, a star:  tables, one after the other   (`forests`)
             anything else:  one variable takes each of its values in turn, and again
          -> more bits while the enclosure is too wide

Serves every discrete law, also in one event; few discrete Laplace samples alone have closed forms,
which are tried before (`exact`).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd

from dipapprox.distributions import law_order
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Connected, Event, Star
from dipapprox.graphs import leaves_first
from dipapprox.limits import Limits
from dipapprox.numerics.answers import Answers
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.numerics.integers.forests import Below, Forests, Link, Untabled, Variable
from dipapprox.numerics.integers.inequalities import Inequality, integer_inequality
from dipapprox.numerics.kinds import is_sum

_GUARD_BITS = 32
_STEP = 32
_ATTEMPTS = 4


class _TooManySums(Exception):
    """The budget for sums is used up."""


class IntegerSums:
    """Encloses events of discrete samples. It remembers tables; not to be shared by threads."""

    name = "integer sums"

    def __init__(self) -> None:
        self._forests: dict[int, Forests] = {}

    def enclose(self, events: Sequence[Connected], bits: int, limits: Limits) -> Answers:
        """Enclose Pr[event] one by one; see `Method.enclose`.

        Args:
            events: All samples discrete.
            bits: Wanted width.
            limits: `pieces` bounds the values that variables take in turn.

        Raises:
            LimitReached: If the time or the memory of `limits` runs out.
        """
        return Answers.of([self._enclose(event, bits, limits) for event in events])

    def _enclose(self, event: Connected, bits: int, limits: Limits) -> Enclosure | NotEnclosed:
        limits.check()
        if not is_sum(event):
            return NotEnclosed("integer-sums: not all samples are integers")
        variables: list[Variable] = []
        inequalities: list[Inequality] = []
        if isinstance(event, Event):
            variables, inequalities = _compounded(
                [Variable(((1, law),)) for law in event.samples],
                [integer_inequality(guard) for guard in event.guards],
            )
        unit = -(-(bits + _GUARD_BITS) // _STEP) * _STEP
        found = UNIT
        try:
            for _ in range(_ATTEMPTS):
                below = (
                    self._at(unit).star(event, limits)
                    if isinstance(event, Star)
                    else _Sum(self._at(unit), limits).probability(variables, inequalities)
                )
                scale = 1 << unit
                low, high = Fraction(below.value, scale), below.value + below.missing
                found = Enclosure(low, Fraction(high, scale)).intersect(UNIT, self.name)
                if found.width <= Fraction(1, 2**bits):
                    break
                unit += _STEP
        except Untabled as error:
            return NotEnclosed(str(error))
        except _TooManySums:
            return NotEnclosed(f"integration-budget: more than {limits.pieces} parts of one sum")
        return found

    def _at(self, unit: int) -> Forests:
        if unit not in self._forests:
            # Precisions are climbed: what was for fewer bits is seldom asked for again.
            self._forests = {unit: Forests(unit)}
        return self._forests[unit]


def _compounded(
    variables: Sequence[Variable], inequalities: Sequence[Inequality]
) -> tuple[list[Variable], list[Inequality]]:
    """Let sums of samples stand for the samples that occur only in them."""
    columns: list[list[tuple[int, int]]] = [[] for _ in variables]
    for row, inequality in enumerate(inequalities):
        for i, a in inequality.terms:
            columns[i].append((row, a))
    groups: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
    for i, column in enumerate(columns):
        if any(len(inequalities[row].terms) > 2 for row, _ in column):
            factor = gcd(*(a for _, a in column)) * (1 if column[0][1] > 0 else -1)
            key = tuple((row, a // factor) for row, a in column)
        else:
            factor, key = 1, ((-1 - i, 0),)  # on its own
        groups.setdefault(key, []).append((factor, i))
    names: dict[int, int] = {}
    found: list[Variable] = []
    factors: dict[int, int] = {}
    for members in groups.values():
        if len(members) == 1:
            ((_, i),) = members
            names[i] = len(found)
            found.append(variables[i])
            continue
        parts = [(f * g, law) for f, i in members for g, law in variables[i].parts]
        for factor, i in members:
            names[i] = len(found)
            factors[i] = factor
        found.append(Variable(tuple(sorted(parts, key=lambda part: (part[0], law_order(part[1]))))))
    rows = []
    for inequality in inequalities:
        terms = {names[i]: a // factors.get(i, 1) for i, a in inequality.terms}
        rows.append(Inequality(tuple(sorted(terms.items())), inequality.bound))
    return found, rows


class _Sum:
    """One event at one accuracy."""

    def __init__(self, forests: Forests, limits: Limits) -> None:
        self._forests = forests
        self._limits = limits
        self._parts = 0

    def probability(
        self, variables: Sequence[Variable], inequalities: Sequence[Inequality]
    ) -> Below:
        """Bound the probability that independent variables satisfy all inequalities."""
        ranges = list(variables)
        links: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        longer: list[Inequality] = []
        for inequality in inequalities:
            match inequality.terms:
                case ((i, a),):
                    ranges[i] = ranges[i].within(a, inequality.bound)
                case ((i, a), (j, b)):
                    links.setdefault((i, j), []).append((a, b, inequality.bound))
                case _:
                    longer.append(inequality)
        neighbours: list[set[int]] = [set() for _ in ranges]
        for i, j in links:
            neighbours[i].add(j)
            neighbours[j].add(i)
        if longer:
            often = [sum(i in dict(each.terms) for each in longer) for i in range(len(ranges))]
            fixed = self._shortest(ranges, often)
        else:
            order = leaves_first(neighbours)
            if len(order) == len(ranges):
                oriented = {
                    (child, parent): _oriented(links, child, parent)
                    for child, parent in order
                    if parent is not None
                }
                return self._forests.probability(ranges, oriented, order, self._limits)
            peeled = {vertex for vertex, _ in order}
            degrees = [0 if i in peeled else len(each) for i, each in enumerate(neighbours)]
            fixed = self._shortest(ranges, degrees)
        rest = [each for each in inequalities if len(each.terms) > 1]
        return self._by_values(fixed, ranges, rest)

    def _shortest(self, ranges: Sequence[Variable], counts: Sequence[int]) -> int:
        """Of the variables with the greatest count, the one that takes the fewest values."""
        most = max(counts)
        if most == 0:
            raise BrokenInvariant("no variable is in the way")
        chosen = [i for i, count in enumerate(counts) if count == most]
        return min(chosen, key=lambda i: (len(self._forests.masses(ranges[i]).values), i))

    def _by_values(
        self, fixed: int, ranges: Sequence[Variable], inequalities: Sequence[Inequality]
    ) -> Below:
        """Sum over the values of one variable the probabilities of what is left."""
        masses = self._forests.masses(ranges[fixed])
        others = [each for i, each in enumerate(ranges) if i != fixed]
        value = missing = 0
        for k, mass in enumerate(masses.values):
            self._limits.check()
            self._parts += 1
            if self._parts > self._limits.pieces:
                raise _TooManySums
            left = [_with_value(each, fixed, masses.first + k) for each in inequalities]
            below = self.probability(others, left)
            value += mass * below.value >> self._forests.unit
            missing = max(missing, below.missing)
        return Below(value, masses.missing + missing + len(masses.values))


def _oriented(
    links: dict[tuple[int, int], list[tuple[int, int, int]]], child: int, parent: int
) -> Link:
    if (child, parent) in links:
        return tuple(sorted(links[child, parent]))
    return tuple(sorted((b, a, bound) for a, b, bound in links[parent, child]))


def _with_value(inequality: Inequality, variable: int, value: int) -> Inequality:
    """Put a value for a variable; those after it move up by one."""
    bound = inequality.bound
    terms = []
    for i, a in inequality.terms:
        if i == variable:
            bound -= a * value
        else:
            terms.append((i - (i > variable), a))
    return Inequality(tuple(terms), bound)
