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

**Clamped numbers, or thresholds**: what needs most for δ = 0. Let y = noise + m(u), the noise of a
log-concave density > 0, m linear, and let what is told of y be h(y), such that {h = v} is an
interval for every v: y itself, clamped, or where it lies among thresholds. For m > m' the
likelihood ratio of y does not fall as y grows, so that of h, a mean of it on {h = v}, is
largest at the top: where h is the same above some t, it is the quotient S(t - m) / S(t - m') for
the tail S of the noise; else its limit for t → ∞. log S is concave, too (Prékopa): it does not fall
as m grows, nor as m' falls, nor as both fall together. So of the pairs of an input in [lo, hi] that
move m up by at most c, (lo + c, lo) needs most; if m falls as the input grows, it is (hi - c, hi).
For m < m' all is mirrored: these two change places.

Of several inputs in y, each of which may be anywhere whatever the others are, each is to be so, by
the sign of its coefficient. Several numbers of independent noise lose the sum of what each loses;
all are at their largest together if no input is in two of them, or these have no other inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import accumulate, combinations, groupby, pairwise, product
from math import prod
from typing import TypeGuard

from dipapprox.data_classes import replace
from dipapprox.errors import LimitReached, UserError
from dipapprox.events.event import EVERYWHERE, Interval, common, mapped
from dipapprox.language.core import Cell, Listed, Norm, Program, Value, Within
from dipapprox.language.domains import AllReals
from dipapprox.linear.form import FormSpan, LinearForm
from dipapprox.pairs.adjacency import are_adjacent
from dipapprox.pairs.boxes.cells import PairSet, Point, Polygon, X, Y, pairs_of, tidy, vertices
from dipapprox.pairs.boxes.movement import is_free
from dipapprox.pairs.selections import Pair
from dipapprox.semantics.clamps import without_clamps
from dipapprox.semantics.state import FinalStates, guards_of

MOST_VERTICES = 10_000
_MANY = f"pair limit: more than {MOST_VERTICES} vertices"
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


def pairs_between(states: FinalStates) -> list[Pair]:
    """Return pairs of finite inputs, too many to go through, of which one has the largest delta.

    None of all numbers between the inputs has a larger one than some `vertex_pairs`: if these are
    adjacent inputs of the program, they are enough.

    Raises:
        LimitReached: If they are none, or for what `vertex_pairs` says.
    """
    program, inputs = states.program, list[Cell]()
    for cell in program.inputs:
        numbers = [value for value in cell.domain if isinstance(value, Fraction)]
        if 1 < len(numbers) == len(cell.domain):
            cell = replace(cell, domain=AllReals((min(numbers), max(numbers))))
        inputs.append(cell)
    if isinstance(program.adjacency, Listed):
        raise LimitReached("pair limit: pairs that are listed have no vertices")
    pairs = vertex_pairs(replace(states, program=replace(program, inputs=tuple(inputs))))
    if not all(are_adjacent(program.inputs, program.adjacency, pair) for pair in pairs):
        raise LimitReached("pair limit: vertices of the inputs' differences are no inputs")
    return pairs


def difference_pairs(program: Program) -> list[Pair]:
    """Return pairs whose differences are the vertices of all; of each difference one pair.

    Raises:
        LimitReached: If there are too many vertices.
    """
    program = without_clamps(program)
    adjacency = program.adjacency
    if isinstance(adjacency, Within) and adjacency.norm is not Norm.L0:
        # A radius limits changes: as much as it is a range that has the same differences.
        own = AllReals((Fraction(0), adjacency.radius))
        cells = [replace(each, domain=own) if is_free(each) else each for each in program.inputs]
        program = replace(program, inputs=tuple(cells))
    found: dict[Pair, None] = {}
    for root in pairs_of(program):
        for corners in _vertices(root):
            pair = root.pair(corners)
            if pair[0] != pair[1]:
                found[pair] = None
            if len(found) > MOST_VERTICES:
                raise LimitReached(_MANY)
    return list(found)


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
    places = {cell.name: place for place, cell in enumerate(states.program.inputs)}
    means = [form + mean_of(states, form) for form in forms]
    rates = [[(places[name], mean.coefficient(name)) for name in mean.inputs()] for mean in means]
    moves = [
        [sum((c * (Fraction(u[k]) - Fraction(v[k])) for k, c in own), _ZERO) for u, v in pairs]
        for own in rates
    ]
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


def _sizes(changes: Sequence[Sequence[Fraction]], is_normal: bool) -> list[list[Fraction]]:
    """Return numbers, for each pair one, with which delta grows: of changes in units of scales."""
    columns = [sorted(map(abs, column), reverse=True) for column in zip(*changes, strict=True)]
    if is_normal:
        return [[sum((x * x for x in column), _ZERO) for column in columns]]
    return [list(each) for each in zip(*map(accumulate, columns), strict=True)]


def _vertices(pairs: PairSet) -> Iterator[Sequence[Point]]:
    """Yield points of the polygons for all vertices of the set of differences."""
    ends = [_ends(polygon) for polygon in pairs.polygons]
    if not pairs.is_bound or pairs.budget is None:
        if prod(map(len, ends)) > 2 * MOST_VERTICES:
            raise LimitReached(_MANY)
        yield from product(*ends)
        return
    moving = [any(x != y for x, y in own) for own in ends]
    for corners, left in vertices(ends, pairs.budget):
        if not left or all(x != y for (x, y), moves in zip(corners, moving, strict=True) if moves):
            yield corners


def _ends(polygon: Polygon) -> Polygon:
    """Return corners with the least and the greatest difference."""
    changes = [x - y for x, y in polygon]
    return tidy(polygon[changes.index(most)] for most in (min(changes), max(changes)))


_Told = LinearForm | Value  # what a state publishes: a number, or a label


def dearest_pairs(states: FinalStates) -> list[Pair]:
    """Return pairs of real inputs of which one needs the largest pure budget; none if not known."""
    try:
        roots = pairs_of(states.program)
    except (LimitReached, UserError):
        return []  # inputs without bounds, say
    if any(root.is_bound for root in roots) or not _tells_intervals(states):
        return []

    def most_moved(polygon: Polygon) -> list[Point]:
        """The largest change up, from the least value, and down, from the greatest."""
        return [end(polygon, key=lambda p: (p[X] - p[Y], -p[X])) for end in (max, min)]

    pairs = (r.pair(corners) for r in roots for corners in product(*map(most_moved, r.polygons)))
    return [pair for pair in dict.fromkeys(pairs) if pair[0] != pair[1]]


def _tells_intervals(states: FinalStates) -> bool:
    every = states.states
    if states.choices or states.comparisons or any(state.conditions for state in every):
        return False
    guards = [[guard.form for guard in guards_of(state.path)] for state in every]
    forms = [form for own in guards for form in own]
    forms += [form for state in every for form in state.reals if not form.is_constant]
    numbers = list(dict.fromkeys(map(_number, forms)))
    used = [sample for number in numbers for sample in number.samples()]
    if len(used) != len(set(used)) or any(states.samples[k].family.is_discrete for k in used):
        return False
    # Quotients of tails that may both be 0 do not fall.
    if any(all(len(states.samples[k].family.sides) < 2 for k in own.samples()) for own in numbers):
        return False
    means = [set(mean_of(states, number).inputs()) for number in numbers]
    if any(form.inputs() for form in forms) or any(
        one & two and len(one | two) > 1 for one, two in combinations(means, 2)
    ):
        return False
    columns = list(zip(*((*state.outputs, *state.reals) for state in every), strict=True))
    for number in numbers:
        where = [_where(own, number) for own in guards]
        pieces = sorted(set(where), key=lambda own: (own[0] is not None, own[0] or Fraction(0)))
        if not _are_apart(pieces):
            return False
        left = []
        for column in columns:
            told = dict(zip(where, column, strict=True))
            if not all(
                told[own] == each and (not _is_number(each) or _number(each) == number)
                for own, each in zip(where, column, strict=True)
            ):
                left.append(column)  # it does not depend on where the number lies, and on it, alone
            elif not any(map(_is_number, told.values())):
                labels = [label for label, _ in groupby(told[each] for each in pieces)]
                if len(labels) > len(set(labels)):
                    return False  # the same in two intervals
            elif not any(_rises([(each, told[each]) for each in pieces], sign) for sign in (1, -1)):
                return False
        columns = left
    return not columns


def _is_number(told: _Told) -> TypeGuard[LinearForm]:
    return isinstance(told, LinearForm) and not told.is_constant


def _rises(pieces: Sequence[tuple[Interval, _Told]], sign: int) -> bool:
    """Whether what is told, times a sign, does not fall as the number grows."""
    ends: list[Interval] = []
    for where, told in pieces:
        assert isinstance(told, LinearForm)
        constant = sign * told.constant
        factor = Fraction(0) if told.is_constant else sign * told.terms[0][1]
        if factor < 0:
            return False
        ends.append(mapped(where, factor, constant) if factor else (constant, constant))
    return _are_apart(ends)


def _are_apart(intervals: Sequence[Interval]) -> bool:
    """Whether each interval ends before the next one begins."""
    ends = [(one[1], two[0]) for one, two in pairwise(intervals)]
    return all(high is not None and low is not None and high <= low for high, low in ends)


def _number(form: LinearForm) -> LinearForm:
    """Return the sum of samples in a form, such that multiples have the same."""
    unit = form - LinearForm.constant_form(form.constant)
    return unit.scaled(1 / unit.terms[0][1])


def mean_of(states: FinalStates, number: LinearForm) -> LinearForm:
    """Return the mean of a sum of samples, which is a form over inputs."""
    found = LinearForm.constant_form(Fraction(0))
    for k in number.samples():
        found = found + states.samples[k].mean.scaled(number.coefficient(k))
    return found


def _where(guards: Sequence[LinearForm], number: LinearForm) -> Interval:
    """Return where a number lies if guards hold."""
    found = EVERYWHERE
    for form in guards:
        if _number(form) == number:
            c = form.terms[0][1]
            end = -form.constant / c
            found = common(found, (None, end) if c > 0 else (end, None))
    return found
