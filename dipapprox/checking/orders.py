"""A path's inequalities as signed sums of trees of comparisons: exact rewriting, no numbers lost.

In: laws and lines (`facts`). Out: independent factors, each a `Sum` of signed products of `Tree`s,
or `General` when its inequalities are no comparisons of pairs. Where real
samples almost never obey such ones, the path has probability 0.

1. Every line c x + d y + k <= 0 becomes a difference y_a - y_b <= w of scaled samples y = f x,
   with one factor f for each sample; a line of one sample bounds it.
2. Inequalities that follow from the others are dropped.
3. Samples are shifted so that every w is 0: what is left is a partial order, and bounds. In a tree
   of samples two bounds on one difference may stay, 0 and another: a band.
4. A partial order that is no tree is rewritten (`cycles`); so are differences that no shifts make
   one, before step 3, whatever else is said of r:

    [l + a < r < h + b]  =  [l + a < h + b] ([r < h + b] - [r < l + a])
    1                    =  [l + a < h + b] + [h + b < l + a]              up to probability 0

   Not so between integers, where ties have a probability: only equations are.

All of it holds for almost every value of each sample. So a sample may be marked as published: as
the first one of its component it is neither scaled nor shifted, and the sum of sign * product of
densities at a value of it, for the trees with the mark, is its density where the lines are <= 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox.checking.cycles import Order, Sample, Trees, components, is_cyclic, trees
from dipapprox.checking.facts import GROUND, Contradiction, Line, distance
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution
from dipapprox.errors import BrokenInvariant
from dipapprox.limits import Limits
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.polyhedra import has_interior

_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class General:
    """Inequalities over samples that are no comparisons of pairs: every line is <= 0."""

    laws: tuple[Distribution, ...]
    lines: tuple[Line, ...]


Sum = tuple[tuple[int, Trees], ...]
"""(sign, trees): the probability is the sum of sign * product."""


def factors(
    laws: Sequence[Distribution],
    lines: Sequence[Line],
    limits: Limits,
    *,
    first_is_published: bool = False,
) -> list[Sum | General] | None:
    """Rewrite a path into independent factors; None if its probability is 0.

    Args:
        laws: Of the samples.
        lines: Over them.
        limits: Asked throughout.
        first_is_published: Whether the first sample, which is no integer, is marked.

    Raises:
        LimitReached: If a rewriting takes too long or has too many terms.
    """
    found: list[Sum | General] = []
    for samples in components(len(laws), [tuple(s for s, _ in line.terms) for line in lines]):
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
            if _is_null(part, own):
                return None
            found.append(General(tuple(part), tuple(own)))
            continue
        if part[0].family.is_discrete:
            rewritten = _between_integers(*differences)
        else:
            marked = first_is_published and samples[0] == 0
            rewritten = _between_reals(*differences, limits, marked=marked)
        if rewritten is None:
            found.append(General(tuple(part), tuple(own)))
        elif all(rewritten):
            found += rewritten
        else:
            return None
    return found


def _is_null(laws: Sequence[Distribution], lines: Sequence[Line]) -> bool:
    """Whether real samples almost never obey lines, because no open set does; False: not seen."""
    forms = (LinearForm.of(dict(line.terms), line.constant) for line in lines)
    return not any(law.family.is_discrete for law in laws) and not has_interior(forms)


def _between_reals(
    laws: list[Distribution], bounds: Bounds, limits: Limits, *, marked: bool
) -> list[Sum]:
    """Steps 2 to 4, up to ties; an empty sum is 0. `marked`: the first sample is published."""
    kept = _needed(laws, bounds)
    if kept is None:
        return [()]
    orders = _shifted(laws, kept, marked=marked)
    if all(order is not None for order in orders):
        return [tuple(trees(order, limits)) for order in orders if order is not None]
    total: list[tuple[int, Trees]] = []
    waiting = [(1, kept)]
    while waiting:
        sign, differences = waiting.pop()
        limits.check()
        limits.check_pieces(len(total) + len(waiting))
        needed = _needed(laws, differences)
        if needed is None:
            continue
        found = _shifted(laws, needed, marked=marked)
        if any(order is None for order in found):
            waiting += [(sign * factor, each) for factor, each in _rewritten(needed)]
            continue
        terms: list[tuple[int, Trees]] = [(sign, ())]
        for order in found:
            if order is not None:
                sums = tuple(trees(order, limits))
                terms = [(a * b, (*left, *right)) for a, left in terms for b, right in sums]
        total += terms
    return [tuple(total)]


def _rewritten(bounds: Bounds) -> list[tuple[int, Bounds]]:
    """Apply one of the two rules, the first one if there is a choice, to a shortest cycle."""
    through: list[tuple[int, int, int, int]] = []
    aside: list[tuple[int, int, int, int, int]] = []
    pairs = [pair for pair in bounds if GROUND not in pair]
    for low, r in pairs:
        for s, high in pairs:
            if s == r and low != high and (way := _way(pairs, low, high, r)):
                through.append((way, low, r, high))
        for other, s in pairs:
            if s == r and low < other and (way := _way(pairs, low, other, r)):
                aside.append((way, low, other, r, 1))
    for r, high in pairs:
        for s, other in pairs:
            if s == r and high < other and (way := _way(pairs, high, other, r)):
                aside.append((way, high, other, r, -1))
    if through:
        _, low, r, high = min(through)
        w = bounds[low, r] + bounds[r, high]
        rest = {pair: bound for pair, bound in bounds.items() if pair != (low, r)}
        rest[low, high] = min(rest.get((low, high), w), w)
        below = {pair: bound for pair, bound in rest.items() if pair != (r, high)}
        least = -bounds[low, r]
        below[r, low] = min(below.get((r, low), least), least)
        return [(1, rest), (-1, below)]
    if not aside:
        raise BrokenInvariant("differences that are no tree have a cycle")
    _, a, b, r, sign = min(aside)
    near = ((a, r), (b, r)) if sign > 0 else ((r, a), (r, b))
    # y_a - y_b <= w, or the other way round
    w = sign * (bounds[near[0]] - bounds[near[1]])
    found: list[tuple[int, Bounds]] = []
    for pair, bound in (((a, b), w), ((b, a), -w)):
        found.append((1, {**bounds, pair: min(bound, bounds.get(pair, bound))}))
    return found


def _way(pairs: Sequence[tuple[int, int]], start: int, end: int, without: int) -> int:
    """The length of a shortest way between two samples that avoids a third; 0: there is none."""
    reached, border, length = {start, without}, {start}, 0
    while border:
        length += 1
        border = {
            x for pair in pairs for x in pair if not border.isdisjoint(pair) and without not in pair
        } - reached
        if end in border:
            return length
        reached |= border
    return 0


def _between_integers(laws: list[Distribution], bounds: Bounds) -> list[Sum] | None:
    """Steps 2 and 3 where [a - b = w] is [a - b <= w] - [a - b <= w - 1]; None: no trees."""
    for (a, b), w in bounds.items():
        if GROUND not in (a, b) and bounds.get((b, a)) == -w:
            loose = {pair: bound for pair, bound in bounds.items() if pair != (b, a)}
            first = _between_integers(laws, loose)
            second = _between_integers(laws, {**loose, (a, b): w - 1})
            if first is None or second is None:
                return None
            return [(*first[0], *((-sign, orders) for sign, orders in second[0]))]
    kept = _needed(laws, bounds)
    if kept is None:
        return [()]
    orders = _shifted(laws, kept)
    whole = [order for order in orders if order is not None and not is_cyclic(order)]
    return [((1, tuple(whole)),)] if len(whole) == len(orders) else None


Bounds = dict[tuple[int, int], Fraction]
"""The least w of y_a - y_b <= w for every pair (a, b); GROUND stands for 0."""

Scaled = tuple[list[Distribution], Bounds]


def _scaled(laws: Sequence[Distribution], lines: Sequence[Line]) -> Scaled | None:
    """Step 1 for one component; None if some line has more samples or the factors disagree."""
    if any(len(line.terms) > 2 for line in lines):
        return None
    factor: dict[int, Fraction] = {0: Fraction(1)}
    integers = laws[0].family.is_discrete
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
        if len(left) == len(open_pairs):
            raise BrokenInvariant("a component of comparisons is not connected")
        open_pairs = left
    if any(c * factor[b] != -d * factor[a] for (a, c), (b, d) in pairs):
        return None
    if integers and any(abs(each) != 1 for each in factor.values()):
        return None
    bounds: Bounds = {}
    for line in lines:
        a, c = line.terms[0]
        b = line.terms[1][0] if len(line.terms) == 2 else GROUND
        weight = c / factor[a]  # weight * (y_a - y_b) + constant <= 0
        key, w = ((a, b), -line.constant / weight)
        if weight < 0:
            key, w = (b, a), -w
        bounds[key] = min(w, bounds.get(key, w))
    return [law.affine(factor[k], _ZERO) for k, law in enumerate(laws)], bounds


def _needed(laws: list[Distribution], bounds: Bounds) -> Bounds | None:
    """Step 2; None if the inequalities contradict each other, or force an equation of reals."""
    kept = dict(bounds)
    integers = laws[0].family.is_discrete
    supports = _supports(laws)
    for key, w in bounds.items():
        known = _edges([*(item for item in kept.items() if item[0] != key), *supports])
        try:
            back, other = distance(known, key[1], key[0]), distance(known, *key)
        except Contradiction:
            return None
        if back is not None and (back + w < 0 or (back + w == 0 and not integers)):
            return None
        if other is not None and other <= w:
            del kept[key]
    return kept


def _shifted(laws: list[Distribution], kept: Bounds, *, marked: bool = False) -> list[Order | None]:
    """Step 3: orders of the components; None where shifts disagree."""
    integers = laws[0].family.is_discrete
    edges = [key for key in kept if GROUND not in key]
    found: list[Order | None] = []
    for members in components(len(laws), edges):
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
        plain = [(a, b) for a, b in own if shift[b] - shift[a] == kept[a, b]]
        bands = [
            (a, b, kept[b, a] + shift[b] - shift[a]) for a, b in plain if (b, a) in kept and a != b
        ]
        wide = integers and any(width.denominator > 1 for _, _, width in bands)
        if wide or len(plain) + len(bands) < len(own) or (bands and len(plain) >= len(members)):
            found.append(None)
            continue
        place = {member: k for k, member in enumerate(members)}
        samples = tuple(
            Sample(
                laws[m],
                None if (GROUND, m) not in kept else -kept[GROUND, m],
                kept.get((m, GROUND)),
                marked and m == 0,
            ).shifted(shift[m])
            for m in members
        )
        if own or samples[0].lower is not None or samples[0].upper is not None:
            edges_here = tuple((place[a], place[b]) for a, b in plain)
            bands_here = tuple((place[a], place[b], width) for a, b, width in bands)
            found.append(Order(samples, edges_here, bands_here))
    return found


def _supports(laws: Sequence[Distribution]) -> list[tuple[tuple[int, int], Fraction]]:
    """What holds of one-sided samples anyway, as bounds."""
    found: list[tuple[tuple[int, int], Fraction]] = []
    for k, law in enumerate(laws):
        if -1 not in law.family.sides:
            found.append(((GROUND, k), -law.mean))
        if 1 not in law.family.sides:
            found.append(((k, GROUND), law.mean))
    return found


def _edges(
    bounds: Iterable[tuple[tuple[int, int], Fraction]],
) -> dict[int, tuple[tuple[int, Fraction], ...]]:
    edges: dict[int, list[tuple[int, Fraction]]] = {}
    for (a, b), w in bounds:
        edges.setdefault(a, []).append((b, w))
    return {a: tuple(each) for a, each in edges.items()}
