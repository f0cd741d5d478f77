"""Outputs of a program as sums of products of integrals that real inputs move.

    paths, inputs as symbols -> samples shifted until inequalities have no inputs
        -> differences, joined where they are one set -> stars

With y = noise + γ(u), γ linear, chosen so that every inequality compares y's with each other or
with constants, the inputs move means only. What is connected with them must be Gaussian, and a
star: one sample that is compared with all others, the root, or a sample alone between constants.
With x the root's noise in its standard deviations, a star has the probability

    ∫ φ(x) Π_l [Φ(α_l x + v_l · u + c_l) - Φ(α_l x + v_l · u + b_l)] dx.

All that inputs do not move is a factor by the check's other means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.checking.boxes.differences import connected, joined, needed
from dipapprox.checking.cycles import components
from dipapprox.checking.distributions import Distributions
from dipapprox.checking.facts import GROUND, Line
from dipapprox.checking.paths import Path, symbolic_paths
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution, Family
from dipapprox.language.core import Value
from dipapprox.limits import Limits

_ZERO = Fraction(0)

Slopes = tuple[Fraction, ...]
"""By real input."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """Φ(alpha x + slopes · u + upper) - Φ(alpha x + slopes · u + lower); None: infinite."""

    alpha: Fraction
    slopes: Slopes
    lower: Fraction | None
    upper: Fraction | None


@dataclass(frozen=True, slots=True)
class Star:
    """The integral of φ(x) Π leaves; without a root there is one leaf, and no x."""

    leaves: tuple[Leaf, ...]
    has_root: bool


@dataclass(frozen=True, slots=True)
class MovingState:
    """A product of stars, and of factors that inputs do not move, by their numbers."""

    stars: tuple[Star, ...]
    fixed: tuple[int, ...]


Outcomes = dict[tuple[Value, ...], tuple[MovingState, ...]]
"""By output: its probability is the sum over the states."""


def moving_outcomes(
    derived: Distributions, row: Sequence[Value | None], limits: Limits
) -> Outcomes:
    """Return the states of all outputs; inputs without a value are real.

    Raises:
        Stuck: If the program cannot be followed, or something is no star of Gaussian samples.
        LimitReached: If `limits` run out.
    """
    inputs = sum(value is None for value in row)
    sets: dict[_Frame, list[_Bounds]] = {}
    for path in symbolic_paths(derived.program, derived.eps, row, limits):
        fixed, moving = _split(path, inputs, derived)
        if fixed is not None:
            shifts, bounds = _shifted(moving, inputs)
            if bounds is not None:
                laws = tuple((sample, path.laws[sample]) for sample in sorted(shifts))
                frame = _Frame(path.outputs, fixed, laws, tuple(sorted(shifts.items())))
                sets.setdefault(frame, []).append(bounds)
    found: dict[tuple[Value, ...], list[MovingState]] = {}
    for frame, own in sets.items():
        for each in joined(own, limits):
            stars = _stars(frame, needed(each), inputs)
            found.setdefault(frame.outputs, []).append(MovingState(stars, frame.fixed))
    return {output: tuple(states) for output, states in found.items()}


_Bounds = dict[tuple[int, int], Fraction]


@dataclass(frozen=True, slots=True)
class _Frame:
    """What sets must have in common to be joined: the space in which they lie.

    Attributes:
        outputs: Of the path.
        fixed: See `MovingState`.
        laws: Of the samples that inputs move, and those connected with them.
        shifts: γ of each.
    """

    outputs: tuple[Value, ...]
    fixed: tuple[int, ...]
    laws: tuple[tuple[int, Distribution], ...]
    shifts: tuple[tuple[int, Slopes], ...]


def _split(
    path: Path, inputs: int, derived: Distributions
) -> tuple[tuple[int, ...] | None, list[Line]]:
    """Return the factors that inputs do not move, None if they are impossible, and other lines."""
    samples = [[s - inputs for s, _ in line.terms if s >= inputs] for line in path.lines]
    fixed: list[Line] = []
    moving: list[Line] = []
    for members in components(len(path.laws) - inputs, samples):
        own = [
            line for line, within in zip(path.lines, samples, strict=True) if within[0] in members
        ]
        moves = any(line.terms[0][0] < inputs for line in own)
        (moving if moves else fixed).extend(own)
        if moves and any(path.laws[m + inputs].family is not Family.GAUSSIAN for m in members):
            raise Stuck("noise around real inputs, or compared with such, that is not Gaussian")
    return derived.factors_of(path.laws, fixed, path.chances), moving


def _shifted(lines: Sequence[Line], inputs: int) -> tuple[dict[int, Slopes], _Bounds | None]:
    """Choose γ for all samples; return it with the bounds of the y's, None if they contradict.

    Raises:
        Stuck: If a line has other than one or two samples, or no γ frees all lines of inputs.
    """
    steps: list[tuple[int, int, Slopes, Fraction]] = []  # y_a - y_b + slopes · u <= w
    for line in lines:
        terms = [(s, c) for s, c in line.terms if s >= inputs]
        if len(terms) > 2 or (len(terms) == 2 and terms[0][1] != -terms[1][1]):
            raise Stuck("sums of noise, or multiples, beside real inputs")
        unit = abs(terms[0][1])
        a = next((s for s, c in terms if c > 0), GROUND)
        b = next((s for s, c in terms if c < 0), GROUND)
        known = {s: c / unit for s, c in line.terms if s < inputs}
        slopes = tuple(known.get(symbol, _ZERO) for symbol in range(inputs))
        steps.append((a, b, slopes, -line.constant / unit))
    shifts: dict[int, Slopes] = {GROUND: (_ZERO,) * inputs}
    waiting = steps
    while waiting:
        left = []
        for step in waiting:
            a, b, slopes, _ = step
            if a in shifts:
                shifts.setdefault(b, tuple(x - y for x, y in zip(shifts[a], slopes, strict=True)))
            elif b in shifts:
                shifts[a] = tuple(x + y for x, y in zip(shifts[b], slopes, strict=True))
            else:
                left.append(step)
        if len(left) == len(waiting):
            shifts[min(min(a, b) for a, b, _, _ in left)] = (_ZERO,) * inputs
        waiting = left
    bounds: _Bounds = {}
    for a, b, slopes, w in steps:
        if any(x - y != z for x, y, z in zip(shifts[a], shifts[b], slopes, strict=True)):
            raise Stuck("samples whose comparisons real inputs move in several ways")
        bounds[a, b] = min(w, bounds.get((a, b), w))
    del shifts[GROUND]
    return shifts, bounds


def _stars(
    frame: _Frame, bounds: Mapping[tuple[int, int], Fraction], inputs: int
) -> tuple[Star, ...]:
    laws, shifts = dict(frame.laws), dict(frame.shifts)
    found: list[Star] = []
    members = sorted({each for pair in bounds for each in pair if each != GROUND})
    for group in connected(members, bounds):
        if len(group) == 1:
            (sample,) = group
            low, high = bounds.get((GROUND, sample)), bounds.get((sample, GROUND))
            leaf = _leaf(
                laws[sample],
                _ZERO,
                tuple(-each for each in shifts[sample]),
                None if low is None else -low,
                high,
            )
            found.append(Star((leaf,), has_root=False))
            continue
        if any((GROUND, each) in bounds or (each, GROUND) in bounds for each in group):
            raise Stuck("samples compared with each other and with constants, beside real inputs")
        root = _root(group, bounds, laws)
        leaves: list[Leaf] = []
        for each in group:
            if each == root:
                continue
            high, low = bounds.get((each, root)), bounds.get((root, each))
            slopes = tuple(x - y for x, y in zip(shifts[root], shifts[each], strict=True))
            mean = laws[root].mean
            leaves.append(
                _leaf(
                    laws[each],
                    laws[root].scale,
                    slopes,
                    None if low is None else mean - low,
                    None if high is None else mean + high,
                )
            )
        found.append(Star(tuple(leaves), has_root=True))
    return tuple(found)


def _leaf(
    law: Distribution,
    spread: Fraction,
    slopes: Slopes,
    lower: Fraction | None,
    upper: Fraction | None,
) -> Leaf:
    """A sample between lower and upper, both + spread · x + slopes · u."""
    return Leaf(
        spread / law.scale,
        tuple(each / law.scale for each in slopes),
        None if lower is None else (lower - law.mean) / law.scale,
        None if upper is None else (upper - law.mean) / law.scale,
    )


def _root(
    group: Sequence[int],
    bounds: Mapping[tuple[int, int], Fraction],
    laws: Mapping[int, Distribution],
) -> int:
    """Return a sample that is part of every comparison in a group.

    Raises:
        Stuck: If there is none.
    """
    pairs = [pair for pair in bounds if pair[0] in group and pair[1] in group]
    common = [each for each in group if all(each in pair for pair in pairs)]
    if not common:
        raise Stuck("comparisons beside real inputs that are no star: not all with one sample")
    return min(common, key=lambda each: laws[each].scale)
