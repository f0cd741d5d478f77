"""The method `sums`: probabilities of integer samples added up, to any accuracy.

    event -> inequalities Σ a_i z_i <= b
          -> an inequality about one variable bounds it; variables that only occur in one
             proportion, in sums of three and more, become one variable: their sum; and again
          -> a forest of comparisons of two, a star:  tables, one after the other   (`forests`)
             anything else:  one variable takes each of its values in turn, and again
          -> more bits while the enclosure is too wide

Serves every discrete law, also in one event; few discrete Laplace samples alone have closed forms,
which are tried before (`exact`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from math import gcd
from operator import add

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Connected, Event, Star
from dipapprox.graphs import leaves_first
from dipapprox.laws.distribution import Distribution, law_order
from dipapprox.limits import check_limits, current
from dipapprox.linear.form import LinearForm
from dipapprox.linear.half_spaces import Inequality, integer_inequality
from dipapprox.numerics.integers.forests import Below, Forests, ForestVariable, Untabled
from dipapprox.numerics.methods import EventByEvent, is_sum

_GUARD_BITS = 32
_STEP = 32
_ATTEMPTS = 4
_FORESEEN = 16
"""A sum is refused at once if it takes that many times the parts allowed: bounds may spare some."""


class _TooManySums(Exception):
    """The budget for sums is used up."""


class IntegerSums(EventByEvent):
    """Encloses events of discrete samples. It remembers tables; not to be shared by threads."""

    name = "integer sums"

    def __init__(self) -> None:
        self._forests: dict[int, Forests] = {}

    def one(self, event: Connected, bits: int) -> Enclosure | NotEnclosed:
        """Enclose Pr[event]; `limits.pieces` bounds the values taken in turn."""
        if not is_sum(event):
            return NotEnclosed("integer-sums: not all samples are integers")
        system = None if isinstance(event, Star) else _Reduction(event).system
        unit = -(-(bits + _GUARD_BITS) // _STEP) * _STEP
        found = UNIT
        try:
            for _ in range(_ATTEMPTS):
                if unit not in self._forests:
                    # Precisions are climbed: what was for fewer bits is seldom asked for again.
                    self._forests = {unit: Forests(unit)}
                if system is None:
                    assert isinstance(event, Star)
                    below = self._forests[unit].star(event)
                else:
                    work = _Sum(self._forests[unit])
                    parts = work.foreseen(system)
                    if parts > _FORESEEN * current().pieces:
                        return NotEnclosed(
                            f"integration-budget: about {Decimal(parts):.0e} parts of one sum, "
                            f"{len(system.ranges)} integer samples or sums in a cycle"
                        )
                    below = work.probability(system)
                scale = 1 << unit
                low, high = Fraction(below.value, scale), below.value + below.missing
                found = Enclosure(low, Fraction(high, scale)).intersect(UNIT, self.name)
                if found.width <= Fraction(1, 2**bits):
                    break
                unit += _STEP
        except Untabled as error:
            return NotEnclosed(str(error))
        except _TooManySums:
            return NotEnclosed(f"integration-budget: more than {current().pieces} parts of one sum")
        return found


def sums_in(event: Event) -> tuple[LinearForm, ...]:
    """Return the sums that stand for the samples in them, in the order in which they are made."""
    return tuple(_Reduction(event).sums)


def is_a_forest(event: Event) -> bool:
    """Whether tables are enough: no variable takes each of its values in turn."""
    return _Reduction(event).system.forest() is not None


class _Reduction:
    """Variables within their bounds and the inequalities between them, as few as there can be.

    `system`: all of them; `sums`: what variables became one, over the samples.
    """

    def __init__(self, event: Event) -> None:
        self.variables = [ForestVariable(((1, law),)) for law in event.samples]
        self.inequalities = [integer_inequality(guard) for guard in event.guards]
        self._forms = [LinearForm.symbol(k) for k in range(len(event.samples))]
        self.sums: list[LinearForm] = []
        self.inequalities = _bounded(self.variables, self.inequalities)
        while self._compound():
            self.inequalities = _bounded(self.variables, self.inequalities)
        self.system = _System(self.variables, self.inequalities)

    def _compound(self) -> bool:
        """Let sums stand for the variables that occur only in them; whether there were any."""
        columns: list[list[tuple[int, int]]] = [[] for _ in self.variables]
        for row, inequality in enumerate(self.inequalities):
            for i, a in inequality.terms:
                columns[i].append((row, a))
        groups: dict[tuple[tuple[int, int], ...], list[tuple[int, int]]] = {}
        for i, column in enumerate(columns):
            if any(len(self.inequalities[row].terms) > 2 for row, _ in column):
                factor = gcd(*(a for _, a in column)) * (1 if column[0][1] > 0 else -1)
                key = tuple((row, a // factor) for row, a in column)
            else:
                factor, key = 1, ((-1 - i, 0),)  # on its own
            groups.setdefault(key, []).append((factor, i))
        if len(groups) == len(self.variables):
            return False
        names: dict[int, tuple[int, int]] = {}
        variables: list[ForestVariable] = []
        forms: list[LinearForm] = []
        for members in groups.values():
            if len(members) == 1:
                ((_, i),) = members
                names[i] = len(variables), 1
                variables.append(self.variables[i])
                forms.append(self._forms[i])
                continue
            names.update((i, (len(variables), factor)) for factor, i in members)
            variables.append(_total([(factor, self.variables[i]) for factor, i in members]))
            forms.append(reduce(add, (self._forms[i].scaled(Fraction(c)) for c, i in members)))
            self.sums.append(forms[-1])
        rows = []
        for inequality in self.inequalities:
            terms = {names[i][0]: a // names[i][1] for i, a in inequality.terms}
            rows.append(Inequality(tuple(sorted(terms.items())), inequality.bound))
        self.variables, self._forms, self.inequalities = variables, forms, rows
        return True


def _bounded(
    variables: list[ForestVariable], inequalities: Iterable[Inequality]
) -> list[Inequality]:
    """Take inequalities about one variable as its bounds; return the others."""
    kept = []
    for inequality in inequalities:
        if len(inequality.terms) == 1:
            ((i, a),) = inequality.terms
            variables[i] = variables[i].within(a, inequality.bound)
        else:
            kept.append(inequality)
    return kept


def _total(weighted: Sequence[tuple[int, ForestVariable]]) -> ForestVariable:
    """Σ factor * variable; what has no bounds is taken apart."""
    parts: list[tuple[int, Distribution | ForestVariable]] = []
    for factor, variable in weighted:
        if variable.low is variable.high is None:
            parts += [(factor * inner, part) for inner, part in variable.parts]
        else:
            parts.append((factor, variable))
    return ForestVariable(tuple(sorted(parts, key=_order)))


def _order(part: tuple[int, Distribution | ForestVariable]) -> tuple[object, ...]:
    """What parts of sums are sorted by, so that equal sums are equal."""
    factor, own = part
    if isinstance(own, Distribution):
        return factor, 0, law_order(own)
    ends = [(end is not None, end or 0) for end in (own.low, own.high)]
    return factor, 1, *ends, tuple(map(_order, own.parts))


class _Sum:
    """One event at one accuracy."""

    def __init__(self, forests: Forests) -> None:
        self._forests = forests
        self._parts = 0

    def probability(self, system: _System) -> Below:
        """Bound the probability of a system: one variable takes its values, unless tables do."""
        order = system.forest()
        if order is not None:
            links = {(i, j): tuple(sorted(system.links[i, j])) for i, j in order if j is not None}
            return self._forests.probability(system.ranges, links, order)
        fixed = self._shortest(system)
        masses = self._forests.masses(system.ranges[fixed])
        value = missing = 0
        for place, mass in enumerate(masses.values, masses.first):
            check_limits()
            self._parts += 1
            if self._parts > current().pieces:
                raise _TooManySums
            below = self.probability(system.without(fixed, place))
            value += mass * below.value >> self._forests.unit
            missing = max(missing, below.missing)
        return Below(value, masses.missing + missing + len(masses.values))

    def foreseen(self, system: _System) -> int:
        """Return how many parts there are if no values are bounds of other variables."""
        count = 1
        while system.forest() is None:
            fixed = self._shortest(system)
            count *= len(self._forests.masses(system.ranges[fixed]).values)
            system = system.without(fixed, None)
        return count

    def _shortest(self, system: _System) -> int:
        """Of the variables that are most in the way, the one that takes the fewest values."""
        counts = system.in_the_way()
        most = max(counts)
        if most == 0:
            raise BrokenInvariant("no variable is in the way")
        chosen = [i for i, count in enumerate(counts) if count == most]
        lengths = {i: len(self._forests.masses(system.ranges[i]).values) for i in chosen}
        return min(chosen, key=lambda i: (lengths[i], i))


class _System:
    """Independent variables, within their ranges, and inequalities between them, as a graph."""

    def __init__(
        self, variables: Sequence[ForestVariable], inequalities: Sequence[Inequality]
    ) -> None:
        self.ranges = list(variables)
        self.inequalities = _bounded(self.ranges, inequalities)
        self.links: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
        self._longer = [each for each in self.inequalities if len(each.terms) > 2]
        for inequality in self.inequalities:
            if len(inequality.terms) == 2:
                (i, a), (j, b) = inequality.terms
                self.links.setdefault((i, j), []).append((a, b, inequality.bound))
                self.links.setdefault((j, i), []).append((b, a, inequality.bound))
        self._neighbours: list[set[int]] = [set() for _ in self.ranges]
        for i, j in self.links:
            self._neighbours[i].add(j)
        self._order = [] if self._longer else leaves_first(self._neighbours)

    def forest(self) -> list[tuple[int, int | None]] | None:
        """(child, parent) for all variables, leaves first; None if they form no forest."""
        whole = not self._longer and len(self._order) == len(self.ranges)
        return self._order if whole else None

    def in_the_way(self) -> list[int]:
        """How much each variable keeps the system from being a forest."""
        if self._longer:
            longer = [dict(each.terms) for each in self._longer]
            return [sum(i in terms for terms in longer) for i in range(len(self.ranges))]
        peeled = {vertex for vertex, _ in self._order}
        return [0 if i in peeled else len(each) for i, each in enumerate(self._neighbours)]

    def without(self, variable: int, value: int | None) -> _System:
        """Put a value for a variable; those after it move up by one.

        None stands for any: what would bound another variable then is left out.
        """
        rows = []
        for inequality in self.inequalities:
            bound, terms = inequality.bound, []
            for i, a in inequality.terms:
                if i == variable:
                    bound -= a * (value or 0)
                else:
                    terms.append((i - (i > variable), a))
            if value is not None or len(terms) > 1:
                rows.append(Inequality(tuple(terms), bound))
        return _System(self.ranges[:variable] + self.ranges[variable + 1 :], rows)
