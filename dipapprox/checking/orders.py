"""A path's inequalities as signed sums of trees of comparisons: exact rewriting, no numbers lost.

In: laws and lines (`facts`). Out: independent factors, each a `Sum` of signed products of `Tree`s,
or `General` when its inequalities are no comparisons of pairs.

1. Every line c x + d y + k <= 0 becomes a difference y_a - y_b <= w of scaled samples y = f x,
   with one factor f for each sample; a line of one sample bounds it.
2. Inequalities that follow from the others are dropped.
3. Samples are shifted so that every w is 0: what is left is a partial order, and bounds.
4. A partial order that is no tree is rewritten, a and b standing for samples of one factor:

       [l < r < h]  =  [l < h] ([r < h] - [r < l])       r has no other neighbours
       1            =  [a < b] + [b < a]                 up to probability 0
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from dipapprox.checking.facts import GROUND, Line, distance
from dipapprox.distributions import Distribution
from dipapprox.limits import Limits

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class Sample:
    """A law restricted to [lower, upper]; None: no bound."""

    law: Distribution
    lower: Fraction | None
    upper: Fraction | None

    def shifted(self, by: Fraction) -> Sample:
        """Return the sample of x + by."""
        return Sample(
            self.law.affine(Fraction(1), by),
            None if self.lower is None else self.lower + by,
            None if self.upper is None else self.upper + by,
        )


@dataclass(frozen=True, slots=True)
class Order:
    """Samples with a partial order: (a, b) in `edges` means x_a <= x_b. No edge is implied."""

    samples: tuple[Sample, ...]
    edges: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class General:
    """Inequalities over samples that are no comparisons of pairs: every line is <= 0."""

    laws: tuple[Distribution, ...]
    lines: tuple[Line, ...]


Trees = tuple[Order, ...]
"""Independent connected orders without cycles; their probabilities multiply."""

Sum = tuple[tuple[int, Trees], ...]
"""(sign, trees): the probability is the sum of sign * product."""


def factors(
    laws: Sequence[Distribution], lines: Sequence[Line], limits: Limits
) -> list[Sum | General] | None:
    """Rewrite a path into independent factors; None if its probability is 0.

    Raises:
        LimitReached: If a rewriting takes too long or has too many terms.
    """
    found: list[Sum | General] = []
    for samples in _components(len(laws), [tuple(s for s, _ in line.terms) for line in lines]):
        place = {sample: k for k, sample in enumerate(samples)}
        own = [
            Line(line.constant, tuple((place[s], c) for s, c in line.terms))
            for line in lines
            if line.terms[0][0] in place
        ]
        if not own:
            continue
        part = [laws[sample] for sample in samples]
        differences = _scaled(part, own)
        if differences is None:
            found.append(General(tuple(part), tuple(own)))
            continue
        orders = _shifted(*differences)
        if orders is None:
            return None
        for order in orders:
            if isinstance(order, Order):
                found.append(tuple(_trees(order, limits)))
            else:
                found.append(General(tuple(part), tuple(own)))
                break
    return found


def _components(size: int, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the samples that are connected through groups, in ascending order."""
    leader = list(range(size))

    def find(x: int) -> int:
        while leader[x] != x:
            leader[x] = leader[leader[x]]
            x = leader[x]
        return x

    for group in groups:
        for other in group[1:]:
            leader[find(other)] = find(group[0])
    found: dict[int, list[int]] = {}
    for x in range(size):
        found.setdefault(find(x), []).append(x)
    return list(found.values())


Scaled = tuple[list[Distribution], dict[tuple[int, int], Fraction]]
"""Laws, and the least w of y_a - y_b <= w for every pair (a, b); GROUND stands for 0."""


def _scaled(laws: Sequence[Distribution], lines: Sequence[Line]) -> Scaled | None:
    """Step 1 for one component; None if some line has more samples or the factors disagree."""
    if any(len(line.terms) > 2 for line in lines):
        return None
    factor: dict[int, Fraction] = {0: Fraction(1)}
    pairs = [line.terms for line in lines if len(line.terms) == 2]
    open_pairs = pairs
    while open_pairs:
        left = []
        for terms in open_pairs:
            (a, c), (b, d) = terms
            if a in factor:
                factor.setdefault(b, -d * factor[a] / c)
            elif b in factor:
                factor[a] = -c * factor[b] / d
            else:
                left.append(terms)
        assert len(left) < len(open_pairs), "the component is connected"
        open_pairs = left
    if any(c * factor[b] != -d * factor[a] for (a, c), (b, d) in pairs):
        return None
    bounds: dict[tuple[int, int], Fraction] = {}
    for line in lines:
        a, c = line.terms[0]
        b = line.terms[1][0] if len(line.terms) == 2 else GROUND
        weight = c / factor[a]  # weight * (y_a - y_b) + constant <= 0
        key, w = ((a, b), -line.constant / weight)
        if weight < 0:
            key, w = (b, a), -w
        bounds[key] = min(w, bounds.get(key, w))
    return [law.affine(factor[k], _ZERO) for k, law in enumerate(laws)], bounds


def _shifted(
    laws: list[Distribution], bounds: dict[tuple[int, int], Fraction]
) -> list[Order | None] | None:
    """Steps 2 and 3: orders of the components that are left; None inside where shifts disagree.

    None as a whole: the inequalities contradict each other or force an equation.
    """
    kept = dict(bounds)
    for key, w in bounds.items():
        back = distance(_edges(kept, key), key[1], key[0])
        if back is not None and back + w <= 0:
            return None
        other = distance(_edges(kept, key), *key)
        if other is not None and other <= w:
            del kept[key]
    edges = [key for key in kept if GROUND not in key]
    found: list[Order | None] = []
    for members in _components(len(laws), edges):
        shift = {members[0]: _ZERO}  # x = y + shift
        own = [key for key in edges if key[0] in members]
        waiting = own
        while waiting:
            left = []
            for a, b in waiting:
                if a in shift:
                    shift.setdefault(b, shift[a] + kept[a, b])
                elif b in shift:
                    shift[a] = shift[b] - kept[a, b]
                else:
                    left.append((a, b))
            waiting = left
        if any(shift[b] - shift[a] != kept[a, b] for a, b in own):
            found.append(None)
            continue
        place = {member: k for k, member in enumerate(members)}
        samples = tuple(
            Sample(
                laws[m],
                None if (GROUND, m) not in kept else -kept[GROUND, m],
                kept.get((m, GROUND)),
            ).shifted(shift[m])
            for m in members
        )
        if own or samples[0].lower is not None or samples[0].upper is not None:
            found.append(Order(samples, tuple((place[a], place[b]) for a, b in own)))
    return found


def _edges(
    bounds: dict[tuple[int, int], Fraction], without: tuple[int, int]
) -> dict[int, tuple[tuple[int, Fraction], ...]]:
    edges: dict[int, list[tuple[int, Fraction]]] = {}
    for (a, b), w in bounds.items():
        if (a, b) != without:
            edges.setdefault(a, []).append((b, w))
    return {a: tuple(each) for a, each in edges.items()}


# --- step 4 ---------------------------------------------------------------------------------------


def _trees(order: Order, limits: Limits) -> Iterator[tuple[int, Trees]]:
    waiting: list[tuple[int, Trees]] = [(1, (order,))]
    pieces = 0
    while waiting:
        sign, orders = waiting.pop()
        cyclic = next((o for o in orders if len(o.edges) >= len(o.samples)), None)
        if cyclic is None:
            yield sign, orders
            pieces += 1
            limits.check_pieces(pieces + len(waiting))
            continue
        limits.check()
        others = tuple(o for o in orders if o is not cyclic)
        for factor, edges in _rewritten(cyclic):
            waiting.append((sign * factor, (*others, *_split(cyclic.samples, edges))))


def _rewritten(order: Order) -> list[tuple[int, set[tuple[int, int]]]]:
    """Apply one of the two rules to an order with a cycle."""
    edges = set(order.edges)
    for r in range(len(order.samples)):
        below = [a for a, b in edges if b == r]
        above = [b for a, b in edges if a == r]
        if len(below) == 1 and len(above) == 1 and _on_cycle(edges, below[0], r):
            (low,), (high,) = below, above
            rest = (edges - {(low, r), (r, high)}) | {(low, high)}
            return [(1, rest | {(r, high)}), (-1, rest | {(r, low)})]
    # Every vertex of a cycle that is nowhere passed straight through has two neighbours on one
    # side; comparing them with each other breaks the cycle open.
    for ends in (edges, {(b, a) for a, b in edges}):
        for vertex in range(len(order.samples)):
            near = [a for a, b in sorted(ends) if b == vertex and _on_cycle(edges, a, b)]
            if len(near) > 1:
                a, b = near[0], near[1]
                return [(1, edges | {(a, b)}), (1, edges | {(b, a)})]
    raise AssertionError("a cycle has a highest vertex")


def _on_cycle(edges: set[tuple[int, int]], a: int, b: int) -> bool:
    """Whether a and b stay connected, whatever the directions, without the edge between them."""
    reached, waiting = {a}, [a]
    while waiting:
        x = waiting.pop()
        for pair in edges:
            if x in pair and set(pair) != {a, b}:
                y = pair[0] if pair[1] == x else pair[1]
                if y not in reached:
                    reached.add(y)
                    waiting.append(y)
    return b in reached


def _split(samples: Sequence[Sample], edges: set[tuple[int, int]]) -> list[Order]:
    """Drop implied edges and return the connected components."""
    kept = set(edges)
    for a, b in sorted(edges):
        if _reaches(kept - {(a, b)}, a, b):
            kept.discard((a, b))
    found = []
    for members in _components(len(samples), sorted(kept)):
        place = {member: k for k, member in enumerate(members)}
        own = tuple((place[a], place[b]) for a, b in sorted(kept) if a in place)
        found.append(Order(tuple(samples[m] for m in members), own))
    return found


def _reaches(edges: set[tuple[int, int]], start: int, end: int) -> bool:
    reached, waiting = {start}, [start]
    while waiting:
        x = waiting.pop()
        for a, b in edges:
            if a == x and b not in reached:
                reached.add(b)
                waiting.append(b)
    return end in reached
