"""Upper bounds of services some of whose cells are kept by differences, examined.

In: a value V for pairs of states (x, y, D): x and y by the values of the other cells, D how much
more the first run's kept cells hold, the same value for all that they may hold. V is 0 where x = y
and D = 0. Out: whether no call tells more than V falls, nor those in which the runs differ more
than the stated bound. Kept cells of ranges of whole numbers may be compared; then both runs are
followed in all cases that D leaves. Additive cells, and data that is a symbol, are never compared.

**What is examined.** For every recorded (x, y, D), call, case and label (what is seen besides
samples, and which samples are seen) the outcomes of both runs are paired one to one, by their next
states or in order, or all with all; which of these does not depend on the additive part of D. For
each two, with probabilities p and q, or the two sums of them,

    V(x, y, D) >= ln(p / q) / eps + cost + V(x', y', D')

where cost is the sum of |difference of means| / g over the samples of scale g / eps. Where the data
point is a symbol, this is examined at the two ends of its domain.

**Theorem.** Then from (x, y, D) the first run shows nothing with a density above e^(V eps) times
the second's, at any data.

*Proof.* For data that is looked at one by one: by induction over the calls, as label by label every
term of the first run's density is at most e^(V eps) times its partner's. For data d that is a
symbol, D' need not be recorded. Let V*(x, y, D) be the least sum of l_i V(x, y, D_i), l_i >= 0 of
sum 1, over D = sum of l_i D_i, with D_i that are recorded for (x, y) (and D = 0 if x = y) and equal
in the compared cells; infinite if there are none. So V* <= V, V* >= 0, and V* = 0 where the two
runs are in one state. V* has the property above, for all d: cases, pairing and p / q are those of
every D_i (at D = 0 and x = y each outcome is its own partner, and D' = 0); D' is affine in D and d,
so D' = sum of l_i D'_i(d), and D'_i(d) lies between D'_i at the two ends of d. Costs are convex in
D. So cost + V*(D') <= sum of l_i (cost_i + V*(D'_i(d))) <= sum of l_i (V(D_i) - ln(p / q) / eps).
The call in which the runs differ is affine in its data in the same way. ∎
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import prod

from dipapprox.checking.decisions.quotients import Quotient, constant
from dipapprox.checking.facts import Line
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.services.pairing import exponent, total
from dipapprox.checking.services.transitions import Call
from dipapprox.checking.services.ways import Range, Values, Way, Ways
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import replace
from dipapprox.digits import brief_text
from dipapprox.language.domains import AllReals
from dipapprox.language.services import Change, Handler, Service
from dipapprox.limits import Limits

Apart = tuple[Fraction, ...]
"""How much more the first run's kept cells hold."""

Pair = tuple[Values, Values, Apart]
"""Two states without their kept cells, and how far these are apart."""

_MOST_CASES = 500

_MOST_UNBOUNDED = 2_000
"""States with values for cells without bounds."""


class Differences:
    """Examines the values of pairs.

    Args:
        service: Elaborated.
        kept: Its cells that are kept by differences, in order.
        values: Of the pairs.
        seen: Whether the examiner sees a call.
        partial: Where what is false is noted.
        limits: Asked throughout.

    Raises:
        Stuck: If a cell cannot be kept so.
    """

    def __init__(
        self,
        service: Service,
        kept: tuple[str, ...],
        values: Mapping[Pair, Fraction],
        seen: Callable[[Call], bool],
        partial: PartialResult,
        limits: Limits,
    ) -> None:
        self._service = service
        self._ways = Ways(service, kept, limits)
        self._values = values
        self._seen = seen
        self._partial = partial
        self._limits = limits
        self._initial = tuple(s.initial if s.name not in kept else None for s in service.states)
        cells = [each for each in service.states if each.name not in kept]
        self._unbounded = any(isinstance(each.cell.domain, AllReals) for each in cells)
        self._zero = (Fraction(0),) * len(kept)
        self._gains: dict[tuple[Quotient, Quotient], Fraction] = {}

    def examine(self, upper: Fraction) -> None:
        """Examine all pairs, and those that calls begin with.

        Raises:
            Stuck: If something cannot be derived.
            LimitReached: If the limits run out.
        """
        states, calls, ends = self._reached()
        self._partial.inputs, self._partial.pairs = len(states), len(self._values)
        data = [call for call in calls if call.handler.is_data]
        for state in states:
            if not all(self._begins(state, data, ends, upper)):
                cost = brief_text(upper)
                text = f"more than {cost} is stated to be lost from a pair that calls reach"
                self._partial.differ("evidence.pairs", text)
                return
        for pair, most in self._values.items():
            for call in calls:
                self._limits.check()
                if not all(self._answers(pair, call, ends, most)):
                    text = f"'{call.handler.name}' tells more than the values of its pairs differ"
                    self._partial.differ("evidence.pairs", text)
                    return

    def _reached(self) -> tuple[list[Values], list[Call], tuple[Fraction, ...]]:
        """Return states that calls lead to, all calls, and the ends of data that is a symbol."""
        handler = self._service.data
        numbers = [v for v in _domain(handler, 0) if isinstance(v, Fraction)]
        queries = [call for each in self._service.queries for call in _calls(each)]
        if len(numbers) == len(_domain(handler, 0)) and all(v.denominator == 1 for v in numbers):
            calls = [Call(handler, ()), *queries]
            try:
                return self._explored(calls), calls, (min(numbers), max(numbers))
            except Stuck:
                pass  # then one by one
        calls = [*_calls(handler), *queries]
        return self._explored(calls), calls, ()

    def _explored(self, calls: Sequence[Call]) -> list[Values]:
        found, waiting = {self._initial}, [self._initial]
        for state in waiting:  # which grows
            self._limits.check()
            self._limits.check_states(len(waiting))
            if self._unbounded and len(waiting) > _MOST_UNBOUNDED:
                raise Stuck("a cell without bounds that is not kept by differences")
            for call in calls:
                for way in self._ways.of(state, call):
                    if way.state not in found:
                        found.add(way.state)
                        waiting.append(way.state)
        return waiting

    # --- the calls in which the runs differ -----------------------------------------------------

    def _begins(
        self, state: Values, data: list[Call], ends: tuple[Fraction, ...], upper: Fraction
    ) -> Iterator[bool]:
        points: Sequence[Fraction | None] = ends or (None,)
        if self._service.change is Change.INSERT:
            kept = tuple(Line(Fraction(0), ((k, Fraction(1)),)) for k in range(len(self._zero)))
            stay = Way((), (), state, kept, (None,) * len(kept), constant(1))
            for call in data:
                for way, point in product(self._ways.of(state, call), points):
                    for one, other in ((way, stay), (stay, way)):
                        yield self._fits(one, other, self._zero, (point, point), upper)
            return
        for first, second in product(data, repeat=2):
            ours, theirs = self._ways.of(state, first), self._ways.of(state, second)
            if first == second and not ends:
                continue
            for left, right in self._cases(ours, theirs, self._zero):
                for one, other, gain in self._paired(left, right):
                    for mine, yours in product(points, repeat=2):
                        yield self._fits(one, other, self._zero, (mine, yours), upper - gain)

    # --- the others -----------------------------------------------------------------------------

    def _answers(
        self, pair: Pair, call: Call, ends: tuple[Fraction, ...], most: Fraction
    ) -> Iterator[bool]:
        first, second, apart = pair
        points: Sequence[Fraction | None] = (ends or (None,)) if call.handler.is_data else (None,)
        seen = self._seen(call)
        ours, theirs = self._ways.of(first, call), self._ways.of(second, call)
        for left, right in self._cases(ours, theirs, apart):
            others = _by_label(right, seen)
            for label, ways in _by_label(left, seen).items():
                if label not in others:
                    raise Stuck("a reply that may be possible in one run only")
                for one, other, gain in self._paired(ways, others[label]):
                    cost = self._cost(one, other, apart) if seen else Fraction(0)
                    for point in points:
                        yield self._fits(one, other, apart, (point, point), most - gain - cost)

    def _cost(self, one: Way, other: Way, apart: Apart) -> Fraction:
        shown = zip(one.shown, other.shown, strict=True)
        return sum(
            (abs(self._apart(a.mean, b.mean, apart, (None, None))) / a.scale for a, b in shown),
            Fraction(0),
        )

    def _fits(
        self,
        one: Way,
        other: Way,
        apart: Apart,
        data: tuple[Fraction | None, Fraction | None],
        most: Fraction,
    ) -> bool:
        """Whether the pair that two ways lead to is stated to lose no more than `most`."""
        forms = zip(one.kept, other.kept, strict=True)
        after = tuple(self._apart(ours, theirs, apart, data) for ours, theirs in forms)
        if one.state == other.state and not any(after):
            return most >= 0
        value = self._values.get((one.state, other.state, after))
        return value is not None and value <= most

    def _apart(
        self,
        ours: Line,
        theirs: Line,
        apart: Apart,
        data: tuple[Fraction | None, Fraction | None],
    ) -> Fraction:
        """Return how much more one form is, whatever the kept cells hold.

        Raises:
            Stuck: If that depends on what they hold.
        """
        found = ours.constant - theirs.constant
        if ours.terms == theirs.terms and data[0] == data[1]:
            for symbol, factor in ours.terms:
                if symbol != self._ways.data:
                    found += factor * apart[symbol]
            return found
        mine, yours = dict(ours.terms), dict(theirs.terms)
        for terms, value, sign in ((mine, data[0], 1), (yours, data[1], -1)):
            factor = terms.pop(self._ways.data, Fraction(0))
            if factor:
                if value is None:
                    raise Stuck("the data point is not known")
                found += sign * factor * value
        if mine != yours:
            raise Stuck("differences do not say what becomes of them")
        return found + sum((c * apart[symbol] for symbol, c in mine.items()), Fraction(0))

    # --- cases and pairs ------------------------------------------------------------------------

    def _cases(
        self, left: Sequence[Way], right: Sequence[Way], apart: Apart
    ) -> Iterator[tuple[list[Way], list[Way]]]:
        """Yield the ways that both runs may have together, whatever their kept cells hold."""
        named = sorted(
            {k for way in (*left, *right) for k, values in enumerate(way.ranges) if values}
        )
        if not named:
            yield list(left), list(right)
            return
        pieces = [list(self._pieces(k, left, right, int(apart[k]))) for k in named]
        if prod(map(len, pieces)) > _MOST_CASES:
            raise Stuck(f"more than {_MOST_CASES} cases of what cells hold")
        known = set()
        for piece in product(*pieces):
            mine = dict(zip(named, piece, strict=True))
            yours = {k: number - int(apart[k]) for k, number in mine.items()}
            active = _active(left, mine), _active(right, yours)
            if active not in known:
                known.add(active)
                yield [left[n] for n in active[0]], [right[n] for n in active[1]]

    def _pieces(self, k: int, left: Sequence[Way], right: Sequence[Way], by: int) -> Iterator[int]:
        """Yield one value of the first run's cell for each range in which all ways stay."""
        whole = self._ways.ranges[k]
        if whole is None:
            raise Stuck("an additive cell decides something")
        low, last = max(whole[0], whole[0] + by), min(whole[1], whole[1] + by)
        if low > last:
            return
        cuts = {low, last + 1}
        for ways, moved in ((left, 0), (right, by)):
            for way in ways:
                values = way.ranges[k]
                if values is not None:
                    cuts.update((values[0] + moved, values[1] + 1 + moved))
        for begin, _ in pairwise(sorted(cut for cut in cuts if low <= cut <= last + 1)):
            yield begin

    def _paired(
        self, left: Sequence[Way], right: Sequence[Way]
    ) -> Iterator[tuple[Way, Way, Fraction]]:
        mine, yours = ({way.state: way for way in ways} for ways in (left, right))
        if len(left) != len(right):
            gain = self._gain(_total(left), _total(right))
            for one, other in product(left, right):
                yield one, other, gain
            return
        together = list(zip(left, right, strict=True))
        if mine.keys() == yours.keys() and len(mine) == len(left):
            together = [(way, yours[state]) for state, way in mine.items()]
        for one, other in together:
            yield one, other, self._gain(one.probability, other.probability)

    def _gain(self, p: Quotient, q: Quotient) -> Fraction:
        if p == q:
            return Fraction(0)
        if (p, q) not in self._gains:
            self._gains[p, q] = exponent(p, q)
        return self._gains[p, q]


def _active(ways: Sequence[Way], held: Mapping[int, int]) -> tuple[int, ...]:
    def stands(values: Range | None, number: int) -> bool:
        return values is None or values[0] <= number <= values[1]

    return tuple(
        place
        for place, way in enumerate(ways)
        if all(stands(way.ranges[k], number) for k, number in held.items())
    )


def _by_label(ways: Sequence[Way], seen: bool) -> dict[tuple[object, ...], list[Way]]:
    found: dict[tuple[object, ...], list[Way]] = defaultdict(list)
    for way in ways:
        label = (way.reply, tuple(replace(s, mean=Line(Fraction(0))) for s in way.shown))
        found[label if seen else ()].append(way)
    return dict(found)


def _total(ways: Sequence[Way]) -> Quotient:
    return total([way.probability for way in ways])


def _domain(handler: Handler, place: int) -> tuple[object, ...]:
    domain = handler.arguments[place].domain
    if isinstance(domain, AllReals):
        raise Stuck("a call may carry any number")
    return domain


def _calls(handler: Handler) -> Iterator[Call]:
    for place in range(len(handler.arguments)):
        _domain(handler, place)
    for values in product(*(cell.domain for cell in handler.arguments)):
        yield Call(handler, values)
