"""Sums that grow sample by sample: inequalities as bounds along a walk, with exact probabilities.

In: inequalities over samples (`General`). Out: a `Walk`, if the following rules leave one part,
each part being at first one sample:

    an inequality of one part bounds it
    parts in fixed proportion in all inequalities become one, y + f_1 x_1 + f_2 x_2 + …, if all but
        the first are samples as they were drawn
    a sample in one inequality, with one other part, is a condition on that part

Partial sums, and sums compared with samples that occur nowhere else, are walks. In closed form, for
samples of Laplace type: the next sum has the density g = ∫ f(v) r e^(-r (u - v)) dv up to u, and
the mirror image, so that g e^(ru) is the running integral of r f e^(rv).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dipapprox.checking.cycles import Sample
from dipapprox.checking.decisions.piecewise import ExactFunctions, Piecewise
from dipapprox.checking.orders import General
from dipapprox.data_classes import dataclass, field
from dipapprox.distributions import Distribution
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.limits import Limits

_ONE, _ZERO = Fraction(1), Fraction(0)


@dataclass(frozen=True, slots=True)
class Plus:
    """An independent sample is added; its mean is 0."""

    law: Distribution


@dataclass(frozen=True, slots=True)
class Within:
    """The sum lies between two constants; None: no bound."""

    lower: Fraction | None
    upper: Fraction | None


@dataclass(frozen=True, slots=True)
class Beside:
    """A sample is at most the sum, or at least it."""

    sample: Sample
    below: bool


Step = Plus | Within | Beside


@dataclass(frozen=True, slots=True)
class Walk:
    """A sample, and what happens to it one after the other."""

    start: Distribution
    steps: tuple[Step, ...]

    def samples(self) -> list[Sample]:
        """All laws and bounds."""
        found = [Sample(self.start, None, None)]
        for step in self.steps:
            match step:
                case Plus(law):
                    found.append(Sample(law, None, None))
                case Within(lower, upper):
                    found.append(Sample(self.start, lower, upper))
                case Beside(sample):
                    found.append(sample)
        return found


def exact_walk(walk: Walk, limits: Limits) -> ExponentialPolynomial:
    """Return the probability for scales a / ε, as a function of ε.

    Raises:
        Stuck: If some law is not of Laplace type.
        LimitReached: If `limits` run out.
    """
    functions = ExactFunctions(walk.samples())
    density = functions.density(walk.start, None, None)
    for step in walk.steps:
        limits.check()
        density = _after(functions, density, step)
    return functions.total(density)


def _after(functions: ExactFunctions, density: Piecewise, step: Step) -> Piecewise:
    match step:
        case Plus(law):
            return functions.plus(density, law)
        case Within(lower, upper):
            return functions.within(density, lower, upper)
        case Beside(sample, below):
            own = functions.density(sample.law, sample.lower, sample.upper)
            return functions.product(density, functions.running(own, from_left=below))


@dataclass(slots=True, eq=False)
class _Part:
    """A walk that grows; a sample as it was drawn has no steps."""

    law: Distribution
    steps: list[Step] = field(default_factory=list)

    @property
    def sample(self) -> Sample | None:
        """The sample between its bounds, if nothing else has happened to it."""
        bounds = [step for step in self.steps if isinstance(step, Within)]
        if len(bounds) < len(self.steps):
            return None
        lower = max((each.lower for each in bounds if each.lower is not None), default=None)
        upper = min((each.upper for each in bounds if each.upper is not None), default=None)
        return Sample(self.law, lower, upper)


@dataclass(slots=True, eq=False)
class _Row:
    """Σ coefficient * part + constant <= 0."""

    terms: dict[int, Fraction]
    constant: Fraction


def walk_of(general: General) -> Walk | None:
    """Read inequalities of continuous samples as a walk; None if they are none."""
    parts = {k: _Part(law) for k, law in enumerate(general.laws)}
    rows = [_Row(dict(line.terms), line.constant) for line in general.lines]
    while rows:
        rows = _bounded(parts, rows)
        if not (_added(parts, rows) or _compared(parts, rows)) and rows:
            return None
    if len(parts) != 1:
        return None
    ((_, only),) = parts.items()
    return Walk(only.law, tuple(only.steps))


def _bounded(parts: dict[int, _Part], rows: Sequence[_Row]) -> list[_Row]:
    """Apply the first rule; return the other inequalities."""
    kept = []
    for row in rows:
        if len(row.terms) > 1:
            kept.append(row)
            continue
        ((number, c),) = row.terms.items()
        bound = -row.constant / c
        parts[number].steps.append(Within(None, bound) if c > 0 else Within(bound, None))
    return kept


def _added(parts: dict[int, _Part], rows: Sequence[_Row]) -> bool:
    """Apply the second rule; whether it applied."""
    columns: dict[int, list[tuple[int, Fraction]]] = {}
    for place, row in enumerate(rows):
        for number, c in row.terms.items():
            columns.setdefault(number, []).append((place, c))
    groups: dict[tuple[tuple[int, Fraction], ...], list[int]] = {}
    for number, column in columns.items():
        direction = tuple((place, c / column[0][1]) for place, c in column)
        groups.setdefault(direction, []).append(number)
    for direction, members in groups.items():
        members.sort(key=lambda number: not parts[number].steps)
        leader, *others = members
        if not others or parts[others[0]].steps:
            continue
        first = rows[direction[0][0]].terms
        for other in others:
            ratio = first[other] / first[leader]
            law = parts.pop(other).law.affine(ratio, _ZERO)
            parts[leader].steps.append(Plus(law.affine(_ONE, -law.mean)))
            for place, _ in direction:
                rows[place].constant += rows[place].terms[leader] * law.mean
                del rows[place].terms[other]
        return True
    return False


def _compared(parts: dict[int, _Part], rows: list[_Row]) -> bool:
    """Apply the third rule; whether it applied."""
    count: dict[int, int] = {}
    for row in rows:
        for number in row.terms:
            count[number] = count.get(number, 0) + 1
    for row in rows:
        if len(row.terms) != 2:
            continue
        for leaf, a in row.terms.items():
            sample = parts[leaf].sample
            if count[leaf] > 1 or sample is None:
                continue
            ((other, b),) = [each for each in row.terms.items() if each[0] != leaf]
            # a x + k = -b z for the other part y and z = (a x + k) / -b: z <= y, or z >= y.
            slope, shift = -a / b, -row.constant / b
            ends = [None if e is None else slope * e + shift for e in (sample.lower, sample.upper)]
            if slope < 0:
                ends.reverse()
            moved = Sample(sample.law.affine(slope, shift), ends[0], ends[1])
            parts[other].steps.append(Beside(moved, below=b < 0))
            del parts[leaf]
            rows.remove(row)
            return True
    return False
