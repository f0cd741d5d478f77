"""Which grid to begin with: atoms of much mass had better lie on it.

Losses that are whole multiples of one number need no refinement of a grid of that step:

    randomised response    ± ln((values - 1) p / (1 - p)), and 0
    (ε, δ) statements      ± ε
    discrete Laplace       (Δ - 2x) / b
    discrete Gaussian      Δ (Δ - 2x) / (2 σ²)

Laplace noise has half of its mass at loss Δ/b, and the pair that is known of the exponential
mechanism has losses ± ε/2: a grid with these among its losses converges like the square of its
step, another one only like the step. Where such losses have no common measure, the step is one on
which all of them nearly lie. The grid is a guess about cost; no bound depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import ceil, expm1, frexp, ldexp, log, log1p

from dipapprox.composition.grid import GridStep
from dipapprox.composition.mechanisms import (
    ApproximateStatement,
    Atoms,
    Between,
    DiscreteGaussian,
    DiscreteLaplace,
    ExponentialMechanism,
    Laplace,
    Mechanism,
    RandomisedResponse,
    Subsampled,
)
from dipapprox.linear.form import content
from dipapprox.numerics.simplest import simplest

_FINEST = 64
"""A common grid has at most so many steps for one of a mechanism's own."""

_LEAST_MASS = 2.0**-40

_WIDEST = 256
"""A discrete Gaussian of greater deviation has too many losses for all of them to be kept."""

COARSEST = Fraction(1, 64)
"""Where a search begins that has to refine its grid, at most."""


def refined(mechanisms: Sequence[Mechanism], step: GridStep, parts: Fraction) -> GridStep:
    """Return a grid that is finer by about a factor, after one of `first_step` or of this."""
    if step.base is None and not have_lattices(mechanisms):
        return aligned(mechanisms, step.unit / parts)
    return step.divided(ceil(parts))


def have_lattices(mechanisms: Sequence[Mechanism]) -> bool:
    """Whether the losses of atoms of much mass are multiples of one step, for each mechanism."""
    return all(_atoms_of(each) is not None for each in mechanisms)


def first_step(mechanisms: Sequence[Mechanism], size: Fraction) -> tuple[GridStep, bool]:
    """Return a grid to begin with, and whether all losses lie on it.

    Args:
        mechanisms: What is run.
        size: Of a step, at most, if that is not so.
    """
    steps = [_atoms_of(each) for each in mechanisms]
    known = [step for step in steps if step is not None]
    units = [step.unit for step in known]
    if not known or len({step.base for step in known}) > 1:
        return aligned(mechanisms, size), False
    step = GridStep(content(units), known[0].base)
    if max(units) > _FINEST * step.unit:
        return aligned(mechanisms, size), False
    exact = len(known) == len(steps) and all(map(_is_on_its_lattice, mechanisms))
    most = float(size) / max(map(_beside_its_lattice, mechanisms)) ** 0.5 if not exact else 0.0
    while not exact and float(step.loss(1)) > most:
        step = step.divided(2)
    return step, exact


def _is_on_its_lattice(mechanism: Mechanism) -> bool:
    return not isinstance(mechanism, Laplace | ExponentialMechanism)


def _beside_its_lattice(mechanism: Mechanism) -> float:
    """About the mass at losses that are on no grid, which alone is moved when put on one."""
    match mechanism:
        case Laplace(sensitivity, scale):
            return max(-expm1(-float(sensitivity / scale)) / 2, _LEAST_MASS)
        case _:
            return 1.0


def _atoms_of(mechanism: Mechanism) -> GridStep | None:
    """A step of which the losses of all atoms of much mass are multiples; None if there are none.

    That is also said where there are too many, or none that is known.
    """
    match mechanism:
        case RandomisedResponse(probability, values):
            odds = probability * (values - 1) / (1 - probability)
            return (
                GridStep(Fraction(1), max(odds, 1 / odds)) if odds != 1 else GridStep(Fraction(1))
            )
        case ApproximateStatement(eps):
            return GridStep(eps or Fraction(1))
        case DiscreteLaplace(sensitivity, scale):
            return GridStep((1 + (sensitivity + 1) % 2) / scale)
        case DiscreteGaussian(sensitivity) if mechanism.square <= _WIDEST**2:
            return GridStep(sensitivity * (1 + (sensitivity + 1) % 2) / (2 * mechanism.square))
        case Laplace(sensitivity, scale):
            return GridStep(sensitivity / scale)
        case ExponentialMechanism(eps):
            return GridStep(eps / 2)
        case _:
            return None


_MOST_TRIED = 4_096
_MOST_ATOMS = 8
_MUCH = Fraction(1, 2**20)
"""A mass. Less is perhaps nothing but what is not known of it."""

_ROUGH = 24
"""Bits of what a grid is chosen by: those of doubles differ from machine to machine at their end,
with the order in which sums are added, and a grid is not to."""


def aligned(mechanisms: Sequence[Mechanism], size: Fraction) -> GridStep:
    """Return a step of at most `size` for mechanisms without a lattice, near which atoms lie."""
    sharp = sorted({_simple(abs(loss)) for each in mechanisms for loss in _sharp(each) if loss})
    if not sharp:
        return GridStep(size)
    longest = sharp[-1]
    least = ceil(longest / size)
    counts = range(least, least + min(least // 4 + 1, _MOST_TRIED))

    def distance(count: int) -> Fraction:
        steps = (loss * count / longest for loss in sharp)
        return max(abs(each - round(each)) for each in steps)

    return GridStep(longest / min(counts, key=distance))


def _rough(value: float) -> float:
    """Round to a few bits."""
    mantissa, exponent = frexp(value)
    return ldexp(round(ldexp(mantissa, _ROUGH)), exponent - _ROUGH)


def _simple(value: float) -> Fraction:
    """Return a simple number near to one > 0, after rounding."""
    rounded = Fraction(_rough(value))
    off = rounded / 2 ** (_ROUGH + 1)
    return simplest(rounded - off, rounded + off)


def _sharp(mechanism: Mechanism) -> list[float]:
    """About the losses of atoms of much mass."""
    match mechanism:
        case Subsampled(inner, rate):
            share = float(rate)
            return [log1p(share * expm1(loss)) for loss in _sharp(inner)]
        case Between(above):
            return _sharp(above)
        case Atoms(masses):
            both = [
                (_rough(float(p.upper)), _rough(float(q.upper)))
                for p, q in masses
                if min(p.lower, q.lower) >= _MUCH
            ]
            return [log(p / q) for p, q in sorted(both)[-_MOST_ATOMS:]]
        case _ if not isinstance(mechanism, DiscreteGaussian):
            step = _atoms_of(mechanism)
            size = 0.0 if step is None else float(step.unit)
            if step is not None and step.base is not None:
                size *= log(step.base)
            return [size, -size]
        case _:
            return []
