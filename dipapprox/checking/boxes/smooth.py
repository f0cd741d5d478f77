"""How much probabilities of outputs can change with real inputs, whatever the noise's density.

    paths, inputs as symbols -> samples shifted until inequalities have no inputs
        -> paths of one output that move the same samples alike: one set of noise

A sample has the density f((x - μ) / σ) / σ; let f have the variation 2c, f' the variation 2d (d is
infinite where f jumps). With y_s = x_s + γ_s(u), γ linear, chosen so that no inequality contains
inputs, P(u) is E g(y) for a g in [0, 1], as paths of one output exclude each other and choices do
not depend on noise. Over sets of total integral 0, ∫ w g is at most half the L1 norm of w. So with
r_si = |slope of γ_s in u_i| / σ_s

    |∂_i P| <= L_i = Σ_s c_s r_si,
    K_ij = 2 Σ_st c_s c_t r_si r_tj + Σ_s (d_s - 2 c_s²) r_si r_sj

bounds by how much ∂_i P moves with u_j, per unit: w is a difference of densities moved, of their
derivatives, or of a product of two. Where all that moves is Laplace noise, a density changes at
most by the factor e^(shift / σ), so that |∂_i P| <= P Σ_s r_si. Several sets of an output add up.

An inequality whose inputs no γ removes changes its truth with u_i by at most |its slope| times the
largest density of what it compares, per unit; that of a sum is at most that of one summand, c / σ
times 1 / |its coefficient|.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.checking.distributions import Distributions
from dipapprox.checking.facts import Line
from dipapprox.checking.paths import Path, symbolic_paths
from dipapprox.checking.values import Stuck
from dipapprox.data_classes import dataclass
from dipapprox.distributions import Distribution, Family
from dipapprox.language.core import Value
from dipapprox.limits import Limits
from dipapprox.semantics.linear import LinearForm
from dipapprox.semantics.polyhedra import has_interior

_ZERO = Fraction(0)

_STEEP: Mapping[Family, Fraction] = {
    Family.LAPLACE: Fraction(1, 2),
    Family.GAUSSIAN: Fraction(39_895, 100_000),  # φ(0) = 0.398942…
    Family.EXPONENTIAL: Fraction(1),
    Family.REFLECTED_EXPONENTIAL: Fraction(1),
}
"""c; also the largest density."""

_CURVED: Mapping[Family, Fraction] = {
    Family.LAPLACE: Fraction(1),  # f' jumps from 1/2 to -1/2
    Family.GAUSSIAN: Fraction(48_395, 100_000),  # 2 φ(1) = 0.483941…
}
"""d."""

Slopes = tuple[Fraction, ...]
"""By real input."""


@dataclass(frozen=True, slots=True)
class Changes:
    """How an output's probability P changes with real inputs.

    Attributes:
        steep: L, by input.
        curved: K, by two inputs; None if nothing is said.
        rates: |∂_i P| <= rates_i P; None if nothing is said.
        growth: The sign of each derivative that inequalities tell, or 0.
    """

    steep: Slopes
    curved: tuple[Slopes, ...] | None
    rates: Slopes | None
    growth: tuple[int, ...]

    @property
    def moves(self) -> tuple[bool, ...]:
        """Whether P depends on each input at all."""
        return tuple(map(bool, self.steep))


def changes(
    derived: Distributions, row: Sequence[Value | None], limits: Limits
) -> dict[tuple[Value, ...], Changes]:
    """Return how all possible outputs change; inputs without a value are real.

    Raises:
        Stuck: If the program cannot be followed, or inputs move noise of integers.
        LimitReached: If `limits` run out.
    """
    inputs = sum(value is None for value in row)
    found: dict[tuple[Value, ...], _Output] = {}
    for path in symbolic_paths(derived.program, derived.eps, row, limits):
        limits.check()
        if not _is_impossible(path):
            found.setdefault(path.outputs, _Output(inputs)).add(path)
    return {output: own.changes() for output, own in found.items()}


def _is_impossible(path: Path) -> bool:
    """Whether, at all inputs, a path has the probability 0 for what it asks of continuous noise."""
    forms = [
        LinearForm.of(dict(line.terms), line.constant)
        for line in path.lines
        if not any(path.laws[symbol].family.is_discrete for symbol, _ in line.terms)
    ]
    return not has_interior(forms)


class _Output:
    """Collects the paths of an output."""

    def __init__(self, inputs: int) -> None:
        self._inputs = inputs
        self._sets: list[tuple[dict[int, Distribution], dict[int, Slopes]]] = []
        self._kept: dict[tuple[Line, tuple[Distribution, ...]], Slopes] = {}
        self._signs: list[set[int]] = [set() for _ in range(inputs)]

    def add(self, path: Path) -> None:
        for symbol, sign in ((s, 1 if c < 0 else -1) for line in path.lines for s, c in line.terms):
            if symbol < self._inputs:
                self._signs[symbol].add(sign)
        shifts = _shifts(path, self._inputs)
        if shifts is None:
            for line in path.lines:
                self._keep(line, path)
            return
        laws = dict(enumerate(path.laws))
        for own_laws, own_shifts in self._sets:
            if _agree(own_laws, laws) and _agree(own_shifts, shifts):
                own_laws.update(laws)
                own_shifts.update(shifts)
                return
        self._sets.append((laws, shifts))

    def _keep(self, line: Line, path: Path) -> None:
        slopes = _slopes(line, self._inputs)
        if not any(slopes):
            return
        noise = [(path.laws[s], abs(c)) for s, c in line.terms if s >= self._inputs]
        densities = [
            _STEEP[law.family] / size / law.scale for law, size in noise if law.family in _STEEP
        ]
        if not densities:
            raise Stuck("real inputs that are compared with integer noise")
        # The opposite inequality becomes true where this one becomes false.
        key = line if line.terms[0][1] > 0 else line.times(Fraction(-1))
        laws = tuple(law for law, _ in noise)
        self._kept[key, laws] = tuple(abs(slope) * min(densities) for slope in slopes)

    def changes(self) -> Changes:
        size = range(self._inputs)
        steep = [sum((own[i] for own in self._kept.values()), _ZERO) for i in size]
        curved: list[list[Fraction]] | None = None
        rates: list[Fraction] | None = None
        if not self._kept:
            curved, rates = [[_ZERO] * self._inputs for _ in size], [_ZERO] * self._inputs
        for laws, shifts in self._sets:
            rows = [
                (laws[s].family, [abs(slope) / laws[s].scale for slope in own])
                for s, own in shifts.items()
                if any(own)
            ]
            own_steep = [sum((_STEEP[f] * r[i] for f, r in rows), _ZERO) for i in size]
            steep = [a + b for a, b in zip(steep, own_steep, strict=True)]
            if any(family is not Family.LAPLACE for family, _ in rows):
                rates = None
            if rates is not None:
                rates = [max(rates[i], sum((r[i] for _, r in rows), _ZERO)) for i in size]
            if any(family not in _CURVED for family, _ in rows):
                curved = None
            if curved is not None:
                more = [(_CURVED[f] - 2 * _STEEP[f] ** 2, r) for f, r in rows]
                for i in size:
                    for j in size:
                        curved[i][j] += 2 * own_steep[i] * own_steep[j]
                        curved[i][j] += sum((d * r[i] * r[j] for d, r in more), _ZERO)
        return Changes(
            tuple(steep),
            None if curved is None else tuple(map(tuple, curved)),
            None if rates is None else tuple(rates),
            tuple(next(iter(signs)) if len(signs) == 1 else 0 for signs in self._signs),
        )


def _agree(first: Mapping[int, object], second: Mapping[int, object]) -> bool:
    return all(second.get(key, value) == value for key, value in first.items())


def _slopes(line: Line, inputs: int) -> Slopes:
    known = dict(line.terms)
    return tuple(known.get(symbol, _ZERO) for symbol in range(inputs))


def _shifts(path: Path, inputs: int) -> dict[int, Slopes] | None:
    """Return γ of the samples in inequalities, with the least change; None if there is none.

    Raises:
        Stuck: If there is a sample whose density is unknown, and inputs would have to move it.
    """
    rows = []
    for line in path.lines:
        noise = {s: c for s, c in line.terms if s >= inputs and not path.laws[s].family.is_discrete}
        slopes = _slopes(line, inputs)
        if noise or any(slopes):
            rows.append((noise, slopes))
    samples = sorted({s for noise, _ in rows for s in noise})
    best: tuple[Fraction, dict[int, Slopes]] | None = None
    for still in samples or [0]:
        # What is last is most likely to stay where it is.
        order = [s for s in samples if s != still] + [s for s in samples if s == still]
        found = _solved(rows, order, inputs)
        if found is None:
            return None
        cost = sum(
            (abs(slope) / path.laws[s].scale for s, own in found.items() for slope in own), _ZERO
        )
        if best is None or cost < best[0]:
            best = cost, found
    return None if best is None else best[1]


def _solved(
    rows: Sequence[tuple[Mapping[int, Fraction], Slopes]], order: Sequence[int], inputs: int
) -> dict[int, Slopes] | None:
    """Solve Σ a_s γ_s = slopes, for all rows, by elimination; what is free is 0."""
    left = [(dict(noise), list(slopes)) for noise, slopes in rows]
    solved: list[tuple[int, dict[int, Fraction], list[Fraction]]] = []
    for sample in order:
        place = next((k for k, (noise, _) in enumerate(left) if noise.get(sample)), None)
        if place is None:
            continue
        noise, slopes = left.pop(place)
        unit = noise[sample]
        noise, slopes = {s: c / unit for s, c in noise.items()}, [c / unit for c in slopes]
        for other, others in [*left, *((n, v) for _, n, v in solved)]:
            factor = other.get(sample, _ZERO)
            if factor:
                for s, c in noise.items():
                    other[s] = other.get(s, _ZERO) - factor * c
                for k, c in enumerate(slopes):
                    others[k] -= factor * c
        solved.append((sample, noise, slopes))
    if any(any(slopes) for _, slopes in left):
        return None
    found = dict.fromkeys(order, (_ZERO,) * inputs)
    found.update({sample: tuple(slopes) for sample, _, slopes in solved})
    return found
