"""Programs that publish numbers and nothing else: finitely many pairs stand for all real ones.

**Theorem.** Let all that a program publishes be y = A X + B u + c, X independent Gaussian, with no
guard and no random choice. Then delta_{u,u'} depends on the difference t = u - u' only, and does
not fall as the norm of B t for the covariance of A X grows (Balle and Wang 2018, theorem 8: it is
Φ(m/2 - ε/m) - e^ε Φ(-m/2 - ε/m) for the norm m; if B t is not in the range of A the laws are
singular, which no norm exceeds). Norms are convex: over a polytope of differences the largest is at
a vertex.

**One number.** y = a·X + b·u + c with X independent of log-concave densities, as all real noise
has: a·X has one, too, so the likelihood ratio is monotone, half-lines are optimal sets, and their
probabilities move apart with the shift: delta does not fall as b·t moves away from 0 to either
side. So a largest one is at an end of the values of b·t, which a vertex attains.

**Several numbers.** Linear combinations of numbers, from which these follow, tell as much as they
do; let these have independent noise of log-concave densities, or none. Where all but one have
densities p under u and p' under u', delta is the integral of p times what the one has for
e^ε p' / p in place of e^ε. So, by the theorem of one number, it does not fall as any b_k·t moves
away from 0 to either side, the others staying; of even noise the side does not matter. One pair
serves for all that move the numbers to certain sides, if none of these moves any number further.

**Laplace numbers.** Two of them are moved by a and b of their scales. Their loss l has the law
e^(l/2 - (a+b)/2) K_a * K_b, with K_t = S_t + 1/4 on [-t, t] and S_t = (δ_t + δ_-t)/2, and delta is
that of one number that is moved by a + b, less

    e^((ε-a-b)/2) / 4 (max(a+b, |ε|) - max(|a-b|, |ε|)):

for the derivative D, K_a * K_b = K_(a+b) - (1 - D^-2/4) (S_(a+b) - S_|a-b|) / 2, and 1/4 - D² makes
0 of (e^(l/2) - e^(ε-l/2))₊, but for its kink at l = ε. For one a + b delta is convex in a - b and
even, for any ε, hence beside other numbers, too, as above. So it is Schur-convex (Hardy, Littlewood
and Pólya): it does not fall if, for every k, the k largest changes in units of scales add up to no
less. Of **Gaussian numbers** it grows with the sum of the squares. What is to be large is convex in
t: it is largest at vertices.

Differences of real inputs are adjacent if they lie in a box, for all adjacencies but l1, whose
vertices are corners. For l1 they lie in a box and their absolute values add up to at most the
radius: at a vertex every input changes as far as the box goes or not at all, but for one at most,
which changes by what is left of the radius. Finite inputs are gone through. An input without bounds
whose changes a radius limits has the differences that it has in a range as wide as the radius.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, product

from dipapprox.data_classes import replace
from dipapprox.errors import LimitReached
from dipapprox.language.core import Norm, Program, Within
from dipapprox.language.domains import AllReals
from dipapprox.linear.form import LinearForm
from dipapprox.linear.span import FormSpan
from dipapprox.pairs.boxes.cells import PairSet, pairs_of
from dipapprox.pairs.boxes.infinity import is_free
from dipapprox.pairs.boxes.monotone import mean_of
from dipapprox.pairs.boxes.polygons import Point, Polygon, tidy
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.state import FinalStates

MOST_VERTICES = 10_000
_ZERO = Fraction(0)
LEMMA = "largest at vertices of the inputs' differences"  # the words in reports


def vertex_pairs(states: FinalStates) -> list[Pair]:
    """Return pairs of which one has the largest delta of all; see the module.

    Raises:
        LimitReached: If the theorems do not cover the program, or there are too many vertices.
    """
    forms = _numbers(states)
    pairs = difference_pairs(states.program)
    return pairs if forms is None or not pairs else _furthest(states, forms, pairs)


def difference_pairs(program: Program) -> list[Pair]:
    """Return pairs whose differences are the vertices of all; of each difference one pair.

    Raises:
        LimitReached: If there are too many vertices.
    """
    found: dict[Pair, None] = {}
    for root in pairs_of(_bounded(program)):
        for corners in _vertices(root):
            pair = root.pair(corners)
            if pair[0] != pair[1]:
                found[pair] = None
            if len(found) > MOST_VERTICES:
                raise LimitReached(f"pair limit: more than {MOST_VERTICES} vertices")
    return list(found)


def _bounded(program: Program) -> Program:
    """Bound real inputs that have no bounds, with the same differences, if a radius limits them."""
    adjacency = program.adjacency
    if not isinstance(adjacency, Within) or adjacency.norm is Norm.L0:
        return program
    domain = AllReals((Fraction(0), adjacency.radius))
    inputs = [replace(each, domain=domain) if is_free(each) else each for each in program.inputs]
    return replace(program, inputs=tuple(inputs))


def _numbers(states: FinalStates) -> list[LinearForm] | None:
    """Return what is published, such that no two numbers share noise; None if vertices are enough.

    Raises:
        LimitReached: If the theorems do not cover the program.
    """
    alone = len(states.states) == 1
    state = states.states[0]
    if not alone or state.path is not None or state.conditions or states.choices:
        raise LimitReached(
            "numbers published beside guards or random choices are not covered for real inputs"
        )
    families = [states.samples[k].family for form in state.reals for k in form.samples()]
    real = not any(family.is_discrete for family in families)
    if all(family.is_normal for family in families) or (real and len(state.reals) == 1):
        return None
    span = FormSpan()
    reduced = [(span.reduced(form)[0], span.put(form, k)) for k, form in enumerate(state.reals)]
    found = [left for left, told in reduced if told is not None]
    found += [row for row, _ in span.rows.values()]
    shared = Counter(sample for form in found for sample in form.samples())
    if not real or max(shared.values()) > 1:
        raise LimitReached(
            "for real inputs only numbers with Gaussian noise, or with independent real noise, are "
            "covered"
        )
    return found


def _furthest(
    states: FinalStates, forms: Sequence[LinearForm], pairs: Sequence[Pair]
) -> list[Pair]:
    """Return for all sides those of some pairs that move numbers furthest; see the module.

    Raises:
        LimitReached: If some number moves furthest in this pair, another one in that.
    """
    moves = [_changes(states, form, pairs) for form in forms]
    groups: dict[tuple[bool, object], list[Sequence[Fraction]]] = {}
    sided = []
    for form, own in zip(forms, moves, strict=True):
        laws = [states.samples[k] for k in form.samples()]
        if not all(law.family.mirror is law.family for law in laws):
            sided.append(own)
            continue
        law, normal, unit = object(), False, Fraction(1)
        if len(laws) == 1 and (laws[0].family.is_exponential or laws[0].family.is_normal):
            law, normal = laws[0].scale.power, laws[0].family.is_normal
            unit = laws[0].scale.coefficient * form.coefficient(form.samples()[0])
        groups.setdefault((normal, law), []).append([x / unit for x in own])
    if len(pairs) << len(sided) > MOST_VERTICES:
        raise LimitReached(f"pair limit: more than {MOST_VERTICES} vertices, by the sides of noise")
    even = [size for (normal, _), each in groups.items() for size in _sizes(each, normal)]
    found: dict[Pair, None] = {}
    for signs in product((1, -1), repeat=len(sided)):
        ways = [[sign * x for x in own] for sign, own in zip(signs, sided, strict=True)]
        if any(max(own) < 0 for own in ways):
            continue  # no pair moves all to these sides
        sizes = [(own, most) for own in (*even, *ways) if (most := max(own))]
        for place, pair in enumerate(pairs):
            if all(own[place] == most for own, most in sizes):
                found[pair] = None
                break
        else:
            raise LimitReached(
                "of several numbers with real inputs no pair of inputs moves all furthest"
            )
    return list(found)


def _changes(states: FinalStates, form: LinearForm, pairs: Sequence[Pair]) -> list[Fraction]:
    """Return by how much pairs change the mean of a number."""
    mean = form + mean_of(states, form)
    places = {cell.name: place for place, cell in enumerate(states.program.inputs)}
    rates = [(places[name], mean.coefficient(name)) for name in mean.inputs()]
    return [
        sum((rate * (Fraction(u[place]) - Fraction(v[place])) for place, rate in rates), _ZERO)
        for u, v in pairs
    ]


def _sizes(changes: Sequence[Sequence[Fraction]], is_normal: bool) -> list[list[Fraction]]:
    """Return numbers, for each pair one, with which delta grows: of changes in units of scales."""
    columns = [sorted(map(abs, column), reverse=True) for column in zip(*changes, strict=True)]
    if is_normal:
        return [[sum((x * x for x in column), _ZERO) for column in columns]]
    return [list(each) for each in zip(*map(accumulate, columns), strict=True)]


def _vertices(pairs: PairSet) -> Iterator[Sequence[Point]]:
    """Yield points of the polygons for all vertices of the set of differences."""
    if not pairs.is_bound or pairs.budget is None:
        yield from product(*map(_ends, pairs.polygons))
        return
    still = [(polygon[0][0], polygon[0][0]) for polygon in pairs.polygons]
    ends = [[end for end in _ends(polygon) if end[0] != end[1]] for polygon in pairs.polygons]
    for changed in _within(ends, pairs.budget):
        corners = [end or rest for end, rest in zip(changed, still, strict=True)]
        left = pairs.budget - sum(abs(x - y) for x, y in corners)
        if not left or all(end or not own for end, own in zip(changed, ends, strict=True)):
            yield corners
        for place, end in enumerate(changed):
            for x, y in ends[place] if end is None else ():
                if 0 < left < abs(x - y):
                    last = (y + (left if x > y else -left), y)
                    yield [*corners[:place], last, *corners[place + 1 :]]


def _within(
    ends: Sequence[Sequence[Point]], budget: Fraction
) -> Iterator[tuple[Point | None, ...]]:
    """Yield for every input one of its ends or None, such that changes are within a budget."""
    if not ends:
        yield ()
        return
    for end in (None, *ends[0]):
        left = budget if end is None else budget - abs(end[0] - end[1])
        if left >= 0:
            for others in _within(ends[1:], left):
                yield (end, *others)


def _ends(polygon: Polygon) -> Polygon:
    """Return corners with the least and the greatest difference."""
    changes = [x - y for x, y in polygon]
    return tidy(polygon[changes.index(most)] for most in (min(changes), max(changes)))
