"""Where does the worst pair of real inputs lie? Pictures and words for an answer that has a pair.

verdict | least δ | least ε_prv  →  δ over planes through its pair (`Planes`)

A verdict of DP has no pair: then the pair of the largest δ at the claimed ε_prv is asked for, which
takes about as long as the verdict did.

One input   its value in u against its value in u', all else as in the pair
Two inputs  their values in u, u' at the same distance from it; or u' stays where it is, if the
            domains leave no room for that
            their values in u', u as in the pair: which changes matter

Every drawn δ is enclosed, as for finite inputs; the points are chosen for the eye.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import TypeAlias

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed, short
from dipapprox.data_classes import Record
from dipapprox.digits import exact_text
from dipapprox.errors import LimitReached, UserError
from dipapprox.language.core import Adjacency, Listed, Norm, Program, Within
from dipapprox.language.domains import AllReals, has_real_inputs
from dipapprox.limits import limited
from dipapprox.pairs.adjacency import allows
from dipapprox.pairs.divergence import Growth, divergence
from dipapprox.pairs.maximum import FACTOR_BITS
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.description import known_to_be
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.profiles.calibration import Calibration, Refuted
from dipapprox.privacy.profiles.planes import Place, Plane, Planes, short_number
from dipapprox.privacy.profiles.profile_result import LeastDelta, LeastEpsPrv
from dipapprox.privacy.rounded_scales import slack, widened
from dipapprox.privacy.run import Options, RunResult, Witness
from dipapprox.privacy.subjects import open_probabilities
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.questions.kinds import Pairs
from dipapprox.questions.profile import Profile
from dipapprox.semantics.clamps import without_clamps
from dipapprox.semantics.real_inputs import execute_for_declared

_NOTHING = "there is nothing to draw"
_LONGEST = len("1/1000")


def check_drawable(program: Program) -> None:
    """Refuse programs of which no planes are drawn."""
    if not has_real_inputs(program):
        raise UserError(f"{_NOTHING}: no input may be any real number between bounds")
    if program.real_outputs:
        raise UserError(f"{_NOTHING}: planes are drawn of programs with finite outputs")


def around_worst_pair(program: Program, found: RunResult, pairs: Pairs, options: Options) -> Planes:
    """Compute δ over planes through the pair of an answer; a limit leaves planes out."""
    check_drawable(program)
    name = "worst pair" if found.reason is None else "worst pair found"
    proved = ""  # what is certain of all pairs
    witness: Witness | None = None
    rate: object = None
    match found:
        case Verdict(answer=Answer.DP, claim=claim):
            largest = _largest(program, claim, pairs, options)
            return around_worst_pair(program, largest, pairs, options)
        case Verdict(witness=witness, claim=claim, answer=answer):
            name = "violating pair" if answer is Answer.NOT_DP else "closest pair found"
            eps, rate = claim.eps, claim.eps_prv
        case IntervalVerdict(violation=Verdict() as violation):
            return around_worst_pair(program, violation, pairs, options)
        case LeastDelta(eps=eps, eps_prv=rate, witness=witness, delta_enclosure=delta):
            proved = "" if found.scope.listed else f"no pair has a δ above {short(delta)[1]}"
        case LeastEpsPrv(eps=eps, delta=least, eps_prv_enclosure=enclosure, witness=witness):
            proved = f"least ε_prv for δ = {least} in {enclosure}; drawn at its lower end"
            rate = enclosure.lower or Fraction(0)
        case Calibration(eps_prv=rate, refuted=Refuted(eps=eps, witness=witness)):
            name = f"pair that refutes ε = {short_number(eps)}"
        case _:
            raise UserError(f"{_NOTHING}: this answer has no pair of inputs")
    if witness is None:
        raise UserError(f"{_NOTHING}: no pair of inputs is told apart")
    if not isinstance(rate, Fraction):
        raise UserError(f"{_NOTHING}: planes are drawn for an ε_prv that is a rational number")
    pair = (witness.input, witness.adjacent)
    with limited(options.limits):
        drawn, left_out = planes(program, eps, Growth(rate), pair, options)
    if not drawn:
        raise UserError(f"{_NOTHING}: {left_out or 'no input can move'}")
    budget = exact_text(rate) if len(exact_text(rate)) <= _LONGEST else short_number(rate)
    return Planes(
        f"{found.program} at ε = {eps}, ε_prv = {budget}: δ around the {name}",
        found.about(),
        name,
        " ~ ".join(witness.pair_text(program.inputs)),
        proved or f"δ of this pair {known_to_be(witness.delta_enclosure)}",
        drawn,
        left_out,
    )


def _largest(program: Program, claim: Claim, pairs: Pairs, options: Options) -> RunResult:
    """Find the pair of the largest δ at a claimed eps_prv: a verdict of DP names none."""
    try:
        return Profile(eps=claim.eps, eps_prv=claim.eps_prv, pairs=pairs).answer(program, options)
    except LimitReached as reached:
        raise UserError(f"{_NOTHING}: {reached.reason}") from None


_FINE, _COARSE = 24, 8
"""Steps of a side of a plane: where probabilities come cheaply, and where not."""
_MEDIUM = 16  # steps where two inputs move
_BITS = 40
_DIGITS = 16  # binary ones of a δ that its enclosure tells
_RADII = 3  # where the domain is much wider than a pair, so much of it is drawn on either side
_MOST_ONE, _MOST_TWO = 4, 3
"""Inputs, and pairs of inputs, that have planes."""

_ZERO = Fraction(0)

Range: TypeAlias = tuple[Fraction, Fraction]


class _Free(Record):
    place: int
    name: str
    domain: Range | None  # its bounds; None if it has none


def planes(
    program: Program, eps: Fraction, growth: Growth, pair: Pair, options: Options
) -> tuple[tuple[Plane, ...], str]:
    """Compute δ over planes through a pair of a program with real inputs and finite outputs; return
    why there are no more, too: "" if there are all."""
    program = without_clamps(program)
    free = [
        _Free(place, cell.name, cell.domain.bounds)
        for place, cell in enumerate(program.inputs)
        if isinstance(cell.domain, AllReals)
        and (cell.domain.bounds is None or cell.domain.bounds[0] < cell.domain.bounds[1])
    ]
    shown = [each for each in free if each.domain is not None or _radius(program.adjacency)]
    chosen = list(combinations(shown, 2))
    found: list[Plane] = []
    try:
        drawing = _Drawing(program, eps, growth, pair, options)
        for each in shown[:_MOST_ONE]:
            found.append(drawing.alone(each))
        for moving in chosen[:_MOST_TWO]:
            found.append(drawing.where(moving))
        for moving in chosen[:_MOST_TWO]:
            found.append(drawing.of_one_side(1, moving, "the input as in the pair"))
    except LimitReached as reached:
        return tuple(found), reached.reason
    missing = [each.name for each in shown[_MOST_ONE:]]
    missing += [f"{one.name} against {other.name}" for one, other in chosen[_MOST_TWO:]]
    missing += [f"{each.name}, which has no bounds" for each in free if each not in shown]
    return tuple(found), ", ".join(missing)


class _Axis(Record):
    """One number of a plane."""

    name: str
    window: Range  # between which it is drawn
    own: tuple[Fraction, ...]  # values that are drawn in any case, as those of the pair
    moved: tuple[tuple[int, int, Fraction], ...]  # of a side an input, so far from the number


class _Drawing:
    def __init__(
        self, program: Program, eps: Fraction, growth: Growth, pair: Pair, options: Options
    ) -> None:
        self._slack = slack(program, growth)
        if program.rounding is not None:
            program = program.with_rational_scales()
        states = execute_for_declared(program, options.merge)
        self._adjacency, self._radius = program.adjacency, _radius(program.adjacency)
        self._source = open_probabilities(states, eps, options)
        self._factor = growth.bounds(FACTOR_BITS)
        self._pair = pair
        (delta,) = self._deltas([pair], _BITS)
        # A δ of many zeros needs more bits to be told from its neighbours.
        self._bits = _BITS
        if delta is not None and delta.upper:
            numerator, denominator = delta.upper.as_integer_ratio()
            zeros = denominator.bit_length() - numerator.bit_length()
            self._bits = max(_BITS, zeros + _DIGITS)

    def alone(self, each: _Free) -> Plane:
        """Move one input in both inputs of the pair, each on its own."""
        own = self._own(each)
        window = self._window(each, own)
        axes = (_Axis(_named(each, k), window, own, ((k, each.place, _ZERO),)) for k in (0, 1))
        return self._plane("all else as in the pair", own, _FINE, *axes)

    def where(self, moving: tuple[_Free, _Free]) -> Plane:
        """Move two inputs of u, and those of u' with them if there is room for that."""
        axes, place = [], []
        for each in moving:
            u, v = self._own(each)
            low, high = self._window(each, (u,))
            room = max(low, low - v + u), min(high, high - v + u)
            if room[0] >= room[1]:
                return self.of_one_side(0, moving, "the adjacent input as in the pair")
            both = (0, each.place, _ZERO), (1, each.place, v - u)
            axes.append(_Axis(_named(each, 0), room, (u,), both))
            place.append(u)
        fixed = "the adjacent input differs as in the pair"
        return self._plane(fixed, (place[0], place[1]), _MEDIUM, *axes)

    def of_one_side(self, side: int, moving: tuple[_Free, _Free], fixed: str) -> Plane:
        """Move two inputs of one side of the pair, where that can be adjacent to the other."""
        axes, place = [], []
        for each in moving:
            own, window = self._own(each), each.domain
            if self._radius is not None:
                other = own[1 - side]
                window = _clipped((other - self._radius, other + self._radius), window)
            assert window is not None, "it has bounds, or adjacency has a radius"
            moved = ((side, each.place, _ZERO),)
            axes.append(_Axis(_named(each, side), window, (own[side],), moved))
            place.append(own[side])
        return self._plane(fixed, (place[0], place[1]), _MEDIUM, *axes)

    def _own(self, each: _Free) -> Place:
        first, second = (Fraction(input[each.place]) for input in self._pair)
        return first, second

    def _plane(self, fixed: str, own: Place, steps: int, *axes: _Axis) -> Plane:
        steps = steps if self._bits == _BITS else _COARSE
        columns, rows = (_values(axis.window, axis.own, self._radius, steps) for axis in axes)
        pairs = []
        for place in product(columns, rows):
            moved = [list(input) for input in self._pair]
            for value, axis in zip(place, axes, strict=True):
                for side, which, further in axis.moved:
                    moved[side][which] = value + further
            pairs.append((tuple(moved[0]), tuple(moved[1])))
        found, size = self._deltas(pairs, self._bits), len(rows)
        deltas = tuple(tuple(found[k : k + size]) for k in range(0, len(found), size))
        across, up = (axis.name for axis in axes)
        return Plane(across, up, fixed, columns, rows, own, deltas)

    def _deltas(self, pairs: Sequence[Pair], bits: int) -> list[Enclosure | None]:
        """Enclose δ of pairs; None for those that are not adjacent, or where it is not known."""
        drawn = [pair for pair in pairs if are_adjacent(self._adjacency, *pair)]
        inputs = list(dict.fromkeys(input for pair in drawn for input in pair))
        known = dict(zip(inputs, self._source.distributions(inputs, bits), strict=True))
        found: dict[Pair, Enclosure] = {}
        for pair in drawn:
            first, second = (known[input] for input in pair)
            if not isinstance(first, NotEnclosed) and not isinstance(second, NotEnclosed):
                delta = widened(divergence(first, second, self._factor), self._slack)
                found[pair] = Enclosure(max(delta.lower, Fraction(0)), delta.upper)
        return [found.get(pair) for pair in pairs]

    def _window(self, each: _Free, own: Iterable[Fraction]) -> Range:
        """Return what is drawn of a domain: all of it, unless a pair would be lost in it."""
        values = list(own)
        around = _RADII * (self._radius or _ZERO)
        near = min(values) - around, max(values) + around
        if each.domain is not None and (
            not around or each.domain[1] - each.domain[0] <= 3 * around
        ):
            return each.domain
        return _clipped(near, each.domain)


def _named(each: _Free, side: int) -> str:
    return f"{each.name} of the{' adjacent' * side} input"


def _values(
    window: Range, own: Iterable[Fraction], radius: Fraction | None, steps: int
) -> tuple[Fraction, ...]:
    """Choose about `steps` values, ascending: both ends, those of the pair, and equidistant ones.

    Their distance divides the radius of adjacency, so that pairs on its edge are drawn.
    """
    low, high = window
    step = (high - low) / steps
    if radius and radius > step:
        step = radius / round(radius / step)
    fixed = {low, high, *own}
    grid = [low + k * step for k in range(int((high - low) / step) + 1)]
    # Cells next to the values of the pair are no slivers.
    spaced = (value for value in grid if all(3 * abs(value - each) >= step for each in fixed))
    return tuple(sorted(fixed.union(spaced)))


def _clipped(window: Range, domain: Range | None) -> Range:
    return window if domain is None else (max(window[0], domain[0]), min(window[1], domain[1]))


def _radius(adjacency: Adjacency) -> Fraction | None:
    """Return how far one number of two adjacent inputs may be apart; None if nothing says it."""
    if isinstance(adjacency, Within) and adjacency.norm is not Norm.L0 and adjacency.radius:
        return adjacency.radius
    return None


def are_adjacent(adjacency: Adjacency, u: Sequence[object], v: Sequence[object]) -> bool:
    """Whether two inputs are adjacent in this order, or equal."""
    if isinstance(adjacency, Listed):
        return (tuple(u), tuple(v)) in adjacency.pairs or (tuple(v), tuple(u)) in adjacency.pairs
    changes = [
        y - x if isinstance(x, Fraction) and isinstance(y, Fraction) else Fraction(x != y)
        for x, y in zip(u, v, strict=True)
    ]
    return allows(adjacency, changes)
