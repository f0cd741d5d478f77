"""Strict orders on points, and cones of guards.

A point is a sample or a fixed quantity: a constant, or an affine form of the inputs. A guard that
compares two points (`r < rT`, `r >= 0`, `r < q[1]`) is one pair of an order; the `Order` keeps
all its consequences. Ties have probability zero, so strictness is ignored here. Guards of any
other shape are kept as they are, the tightest of each direction. Every branch of a run has an order
and extends it by a pair at a time: so it is kept closed, in bits, where `linear.zones` has
offsets and looks for paths.

Linear extensions. The share of all total orders that agree with a partial order, exactly.

For n points in general position this is e / n!, e the number of linear extensions: the probability
of the order for independent uniform points. Hook-length formula for forests (Knuth, TAOCP 3,
5.1.4, exercise 20), dynamic programming over down-sets for small orders; None for the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import reduce
from math import prod
from operator import or_

from dipapprox.data_classes import Record, field
from dipapprox.errors import BrokenInvariant
from dipapprox.graphs import bits
from dipapprox.linear.form import LinearForm, Symbol, are_opposite, is_unit
from dipapprox.semantics.evaluation import Knowledge
from dipapprox.semantics.state import Constraint, Extreme, Guard, Path, SampleComparison, newest

Pair = tuple[int, int]  # (a, b): point a is smaller than point b


def complement(guard: Constraint) -> Constraint:
    if isinstance(guard, SampleComparison):
        return SampleComparison(guard.large, guard.small, not guard.strict)
    return Guard(-guard.form, not guard.strict)


class Points:
    """Numbers the points of a run, and knows which fixed ones are ordered by themselves.

    A fixed point f is known to be below g when f <= g for all inputs: if f - g is a constant, or
    if their ranges over the input domains do not overlap. On the boundary f = g no guard between
    a sample and f or g changes its truth outside a null set.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._numbers: dict[int | LinearForm, int] = {}
        self._points: list[int | LinearForm] = []
        self._guards: dict[Pair, Guard] = {}
        self._by_range: dict[tuple[Fraction, Fraction], int] = {}
        self._by_terms: dict[tuple[tuple[Symbol, Fraction], ...], int] = {}
        self.fixed = 0  # mask of the fixed points
        self._known_below: dict[int, int] = {}
        self._known_above: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._points)

    def mask(self, samples: Iterable[int]) -> int:
        found = 0
        for sample in samples:
            found |= 1 << self.number(sample)
        return found

    def pair(self, guard: Constraint) -> Pair | None:
        """Return the comparison of two points that a guard is, or None."""
        if isinstance(guard, SampleComparison):
            return self.number(guard.small), self.number(guard.large)
        terms, constant = guard.form.terms, guard.form.constant
        (first, slope), rest = terms[0], terms[1:]
        assert isinstance(first, int)
        if not is_unit(slope):
            return None
        rising = slope.numerator > 0
        if not rest or isinstance(rest[0][0], str):
            fixed = LinearForm(rest, constant)
            if rising:
                return self.number(first), self.number(-fixed)
            return self.number(fixed), self.number(first)
        second, other = rest[0]
        if len(rest) > 1 or constant or not are_opposite(other, slope):
            return None
        assert isinstance(second, int)
        if rising:
            return self.number(first), self.number(second)
        return self.number(second), self.number(first)

    def constraint(self, pair: Pair) -> Constraint:
        """Return the guard that says `pair`; not both points may be fixed."""
        small, large = self._points[pair[0]], self._points[pair[1]]
        if isinstance(small, int) and isinstance(large, int):
            return SampleComparison(small, large, False)
        guard = self._guards.get(pair)
        if guard is None:
            form = self._form(pair[0]) - self._form(pair[1])
            guard = Guard(form.normalised(), False)
            self._guards[pair] = guard
        return guard

    def known(self, point: int) -> tuple[int, int]:
        """Return the masks of the fixed points known to be below and above a fixed point."""
        return self._known_below[point], self._known_above[point]

    def _form(self, number: int) -> LinearForm:
        point = self._points[number]
        return LinearForm.symbol(point) if isinstance(point, int) else point

    def number(self, point: int | LinearForm) -> int:
        """Return the number of a point: of a sample, or of a fixed quantity."""
        number = self._numbers.get(point)
        if number is None:
            number = self._numbers[point] = len(self._points)
            self._points.append(point)
            if isinstance(point, LinearForm):
                self._register(number, point)
        return number

    def _register(self, number: int, form: LinearForm) -> None:
        below = above = 0
        ends = self._knowledge.enclose(form)
        if ends is not None:
            lower, upper = ends
            for (low, high), mask in self._by_range.items():
                if high <= lower:
                    below |= mask
                elif upper <= low:
                    above |= mask
        for other in bits(self._by_terms.get(form.terms, 0) & ~(below | above)):
            if self._form(other).constant < form.constant:
                below |= 1 << other
            else:
                above |= 1 << other
        bit = 1 << number
        self._known_below[number], self._known_above[number] = below, above
        for other in bits(below):
            self._known_above[other] |= bit
        for other in bits(above):
            self._known_below[other] |= bit
        if ends is not None:
            self._by_range[ends] = self._by_range.get(ends, 0) | bit
        self._by_terms[form.terms] = self._by_terms.get(form.terms, 0) | bit
        self.fixed |= bit


class Order(Record, frozen=False):
    """A transitively closed strict order on points; never changed."""

    # For each point that has smaller ones, the mask of all of them. No mask is 0.
    below: Mapping[int, int] = field(default_factory=dict)
    lower: int = 0  # mask of the points that have a larger one: the union of all masks
    fixed: int = 0  # mask of the fixed points that occur

    def has(self, pair: Pair) -> bool:
        return bool(self.below.get(pair[1], 0) >> pair[0] & 1)

    def decides(self, pair: Pair, points: Points) -> bool | None:
        """Whether `pair` follows (True), contradicts (False) or neither (None)."""
        order = self._with_points_of(pair, points)
        if order.has(pair):
            return True
        return False if order.has((pair[1], pair[0])) else None

    def assume(self, pair: Pair, points: Points) -> Order:
        """Add an undecided pair and its consequences."""
        return self._with_points_of(pair, points)._closed(pair)

    def with_fixed(self, mask: int, points: Points) -> Order:
        """Add fixed points, with what is known about their places."""
        order = self
        for point in bits(mask & ~self.fixed):
            smaller, larger = points.known(point)
            for other in bits(smaller & order.fixed):
                order = order._closed((other, point))
            for other in bits(larger & order.fixed):
                order = order._closed((point, other))
            order = Order(order.below, order.lower, order.fixed | 1 << point)
        return order

    def _with_points_of(self, pair: Pair, points: Points) -> Order:
        if not points.fixed:
            return self
        return self.with_fixed((1 << pair[0] | 1 << pair[1]) & points.fixed, points)

    def _closed(self, pair: Pair) -> Order:
        """Add a pair that does not contradict, and close under transitivity."""
        small, large = pair
        below = dict(self.below)
        gain = below.get(small, 0) | 1 << small
        if self.lower >> large & 1:
            for point, mask in self.below.items():
                if mask >> large & 1:
                    below[point] = mask | gain
        below[large] = below.get(large, 0) | gain
        return Order(below, self.lower | gain, self.fixed)

    def mentions(self, points: int) -> bool:
        """Whether any point of a mask is smaller or larger than another."""
        return bool(self.lower & points) or any(points >> point & 1 for point in self.below)

    def with_extreme(self, best: int, others: int, largest: bool) -> Order:
        """Add that a point lies above, or below, some others; none of them is mentioned yet."""
        if largest:
            return Order({**self.below, best: others}, self.lower | others, self.fixed)
        below = dict.fromkeys(bits(others), 1 << best)
        return Order({**self.below, **below}, self.lower | 1 << best, self.fixed)

    def covers(self) -> dict[int, int]:
        """The transitive reduction: for each point with smaller ones, the mask of the next ones."""
        keys = 0
        for point in self.below:
            keys |= 1 << point
        result = {}
        for point, mask in self.below.items():
            middles = mask & keys
            for middle in bits(middles) if middles else ():
                mask &= ~self.below[middle]
            result[point] = mask
        return result

    def common(self, other: Order) -> Order:
        shared = {}
        lower = 0
        for point, mask in self.below.items():
            both = mask & other.below.get(point, 0)
            if both:
                shared[point] = both
                lower |= both
        return Order(shared, lower, self.fixed & other.fixed)

    def key(self) -> frozenset[Pair]:
        """A hashable value that is equal for equal orders."""
        return frozenset(self.below.items())


_Terms = tuple[tuple[Symbol, object], ...]


class GuardCone(Record, frozen=False):
    """The guards of a path, closed under simple consequences; never changed."""

    order: Order = field(default_factory=Order)  # the comparisons of two points
    # The remaining guards by their non-constant part, the tightest of each.
    others: Mapping[_Terms, Guard] = field(default_factory=dict)

    def decides(self, guard: Constraint, points: Points) -> bool | None:
        """Whether a guard follows (True), leaves a null set (False) or neither (None)."""
        pair = points.pair(guard)
        if pair is not None:
            return self.order.decides(pair, points)
        assert isinstance(guard, Guard)
        form = guard.form
        parallel = self.others.get(form.terms)
        if parallel is not None and parallel.form.constant >= form.constant:
            return True
        opposite = self.others.get((-form).terms)
        # terms <= -constant and -terms <= -constant' leave no more than a hyperplane
        if opposite is not None and opposite.form.constant + form.constant >= 0:
            return False
        return None

    def assume(self, guard: Constraint, points: Points) -> GuardCone:
        """Add an undecided guard."""
        pair = points.pair(guard)
        if pair is not None:
            return GuardCone(self.order.assume(pair, points), self.others)
        assert isinstance(guard, Guard)
        return GuardCone(self.order, {**self.others, guard.form.terms: guard})

    def knows_none_of(self, group: Collection[int], points: Points) -> bool:
        """Whether no guard mentions any sample of a group."""
        samples = set(group)
        others = (guard.form.samples() for guard in self.others.values())
        return not self.order.mentions(points.mask(group)) and all(
            samples.isdisjoint(mentioned) for mentioned in others
        )

    def with_extreme(self, extreme: Extreme, group: int, points: Points) -> GuardCone:
        """Add that a sample is the extreme of a group, given by its mask, of which no guard knows
        any."""
        best = points.number(extreme.best)
        order = self.order.with_extreme(best, group & ~(1 << best), extreme.largest)
        return GuardCone(order, self.others)

    def guards(self, points: Points) -> Iterator[Constraint]:
        """Yield guards that say the same, without those that others imply."""
        for large, mask in self.order.covers().items():
            if points.fixed >> large & 1:
                mask &= ~points.fixed
            for small in bits(mask):
                yield points.constraint((small, large))
        yield from self.others.values()


def steps_since(path: Path | None, start: Path | None) -> list[Path]:
    """Return the nodes of a path after one of them, oldest first."""
    found = []
    while path is not start:
        if path is None:
            raise BrokenInvariant("a path does not continue the one that a cone was made of")
        found.append(path)
        path = path.parent
    return found[::-1]


def cones_of(paths: Iterable[Path | None], points: Points) -> Iterator[GuardCone]:
    """Yield the cones of paths with undecided guards only; what paths share is read once."""
    known: dict[int, GuardCone] = {}
    for path in paths:
        waiting = []
        node = path
        while node is not None and id(node) not in known:
            waiting.append(node)
            node = node.parent
        cone = GuardCone() if node is None else known[id(node)]
        for node in reversed(waiting):
            cone = known[id(node)] = taken_in(cone, node, points)
        yield cone


def taken_in(cone: GuardCone, node: Path, points: Points) -> GuardCone:
    """Add the newest guards of a path, which are undecided."""
    if isinstance(node.step, Extreme) and cone.knows_none_of(node.step.group, points):
        return cone.with_extreme(node.step, points.mask(node.step.group), points)
    for constraint in newest(node):
        cone = cone.assume(constraint, points)
    return cone


def cone_of(guards: Iterable[Guard], points: Points) -> tuple[GuardCone, bool]:
    """Return the cone of guards, but for those that contradict the ones before them; if any do."""
    cone, contradicted = GuardCone(), False
    for guard in guards:
        verdict = cone.decides(guard, points)
        contradicted = contradicted or verdict is False
        cone = cone.assume(guard, points) if verdict is None else cone
    return cone, contradicted


_MOST_DOWN_SETS = 2000


def extension_share(order: Order) -> Fraction | None:
    """Return e(order) / n!, or None where it is not computed."""
    covers = order.covers()
    total = Fraction(1)
    for component in _components(covers):
        share = _component_share(order, covers, component)
        if share is None:
            return None
        total *= share
    return total


def _components(covers: dict[int, int]) -> list[int]:
    """The masks of the connected parts of the diagram."""
    parts: list[int] = []
    for point, mask in covers.items():
        whole = mask | 1 << point
        apart = []
        for part in parts:
            if part & whole:
                whole |= part
            else:
                apart.append(part)
        parts = [*apart, whole]
    return parts


def _component_share(order: Order, covers: dict[int, int], component: int) -> Fraction | None:
    inner = [p for p in covers if component >> p & 1]
    masks = [covers[p] for p in inner]
    if sum(map(int.bit_count, masks)) == reduce(or_, masks).bit_count():
        # No point has two upper covers: Π 1 / |points up to and including p|.
        return Fraction(1, prod(order.below[p].bit_count() + 1 for p in inner))
    if all(covers[p].bit_count() == 1 for p in inner):
        # No point has two lower covers: the hook-length formula upside down. Points with more
        # smaller ones come first, so that a point's own count is complete when it is passed on.
        above: dict[int, int] = defaultdict(lambda: 1)
        for point in sorted(inner, key=lambda p: -order.below[p].bit_count()):
            above[covers[point].bit_length() - 1] += above[point]
        return Fraction(1, prod(above.values()))
    return _counted_share(order, component)


def _counted_share(order: Order, component: int) -> Fraction | None:
    """Count the ways to list the points of a component from below; None if there are too many."""
    points = [(1 << p, order.below.get(p, 0)) for p in bits(component)]
    layer = {0: 1}
    visited = 0
    for _ in points:
        following: dict[int, int] = {}
        for listed, ways in layer.items():
            for bit, needed in points:
                if not listed & bit and needed & ~listed == 0:
                    following[listed | bit] = following.get(listed | bit, 0) + ways
        visited += len(following)
        if visited > _MOST_DOWN_SETS:
            return None
        layer = following
    factorial = prod(range(1, len(points) + 1))
    return Fraction(layer[component], factorial)
