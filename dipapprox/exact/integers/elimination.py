"""Weights of any integer systems: sums over one sample between its bounds, piece by piece.

A piece is a system of inequalities between the samples that are left, with a function of them. To
sum x out of it,

    x < mean | x >= mean     split, so that the weight of x is one exponential
    a x <= …, |a| > 1        replace the others by v = A v' + r for every residue r: then a divides
                             their coefficients, and with the bound rounded down it is x <= …
    lower bounds L_i <= x, upper bounds U_j >= x, affine with integer coefficients:

        Σ f = Σ_ij [L_i is the greatest, U_j the least, L_i <= U_j] (G(U_j) - G(L_i - 1))

with an antidifference G of f. Ties go to the first bound, so the pieces are disjoint. Variables
with bounds by few others come first: forests are summed leaf by leaf.
A bound that is missing contributes nothing: let R be a piece in which x has no lower bound. Moving
x to -∞, and the summed samples with it by the linear parts of the bounds that were put for them,
meets the homogeneous inequalities of the whole system, the splits at the means included; along
this direction Σ rates |z| grows in every monomial of f, so that every monomial decays.

References:
    DiPC paper, Lemma 17; the recursion is Lemma 18's, for sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import lcm

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.data_classes import dataclass
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event
from dipapprox.exact.integers.lattice_ratios import ZERO, LatticeRatio
from dipapprox.exact.integers.sums import (
    Function,
    IntegerForm,
    added,
    antidifference,
    exponential,
    multiplied,
    negated,
    one,
    substituted,
)
from dipapprox.exact.integers.tight_bounds import Bounds, tightened
from dipapprox.limits import Limits
from dipapprox.linear.form import content
from dipapprox.linear.integer_points import integer_inequality

Residues = tuple[tuple[int, int], ...]
"""(A, r) for every sample: z = A z' + r, and functions and inequalities are about the z'."""

Pieces = dict[tuple[Bounds, Residues], Function]
"""Functions by where they hold: pieces with equal systems are added up."""


class _TooManyPieces(Exception):
    """The budget for pieces is used up."""


@dataclass(frozen=True, slots=True)
class IntegerSystem:
    """Independent discrete Laplace samples z_i with Pr[z_i] ∝ Y^{rates[i] * |z_i - means[i]|}.

    Attributes:
        unit: Y = e^{-unit * ε}, unit > 0: the largest number of which all 1 / scale are multiples.
        rates: 1 / scale in units, positive.
        means: One for each sample.
        bounds: (a, b): Σ a_i z_i <= b, none of them 0 <= b.
    """

    unit: Fraction
    rates: tuple[int, ...]
    means: tuple[int, ...]
    bounds: Bounds


def integer_system(event: Event) -> IntegerSystem | NotEnclosed:
    """Read an event of discrete Laplace samples as a system over the integers."""
    for family in [law.family for law in event.samples]:
        if not family.is_exponential:
            return NotEnclosed(f"outside-fragment: {family.title} noise has no closed form")
        if not family.is_discrete:
            return NotEnclosed("outside-fragment: not all samples are integers")
    means = []
    for law in event.samples:
        if law.mean.denominator != 1:
            return NotEnclosed(f"the mean {law.mean} of a discrete Laplace sample is no integer")
        means.append(law.mean.numerator)
    rates = [1 / law.scale for law in event.samples]
    unit = content(rates)
    multiples = tuple(int(rate / unit) for rate in rates)
    bounds = []
    for guard in event.guards:
        inequality = integer_inequality(guard)
        row = dict(inequality.terms)
        dense = tuple([row.get(i, 0) for i in range(len(rates))])
        bounds.append((dense, inequality.bound))
    return IntegerSystem(unit, multiples, tuple(means), tuple(bounds))


def system_weight(system: IntegerSystem, limits: Limits) -> LatticeRatio | NotEnclosed:
    """Sum Π Y^{rates[i] |z_i - means[i]|} over all solutions.

    Returns:
        The sum, or that it needs more than `limits.pieces` pieces.

    Raises:
        LimitReached: If the time or the memory runs out.
        SumTooLong: If a coefficient has too many terms.
    """
    size = len(system.rates)
    bounds = tightened(system.bounds)
    if bounds is None:
        return ZERO
    pieces: Pieces = {(bounds, ((1, 0),) * size): one(size)}
    left = set(range(size))
    try:
        while left:
            variable = min(left, key=lambda v: (_difficulty(v, pieces), v))
            left.discard(variable)
            pieces = _eliminated(variable, pieces, system, limits)
    except _TooManyPieces:
        return NotEnclosed(f"integration-budget: more than {limits.pieces} pieces of one sum")
    total = added(pieces.values())
    nothing = (0,) * size
    if total.keys() - {(nothing, nothing)}:
        raise BrokenInvariant("a summed variable is left")
    return total.get((nothing, nothing), ZERO)


def _difficulty(variable: int, pieces: Pieces) -> tuple[int, int]:
    """Residue classes, then bounds by others, that summing a variable out now takes."""
    classes = made = 0
    for bounds, _ in pieces:
        involved = [row for row, _ in bounds if row[variable]]
        classes += _classes(variable, involved)[2] - 1
        made += sum([row.count(0) < len(row) - 1 for row in involved])
    return classes, made


def _classes(variable: int, rows: Sequence[tuple[int, ...]]) -> tuple[int, tuple[int, ...], int]:
    """Return the modulus, the variables to be split by residues, and the number of classes."""
    uneven = [row for row in rows if abs(row[variable]) > 1]
    modulus = lcm(*(row[variable] for row in uneven))
    others = {i for row in uneven for i, a in enumerate(row) if a and i != variable}
    split = tuple(sorted(others)) if modulus > 1 else ()
    return modulus, split, modulus ** len(split)


def _eliminated(variable: int, pieces: Pieces, system: IntegerSystem, limits: Limits) -> Pieces:
    found: dict[tuple[Bounds, Residues], list[Function]] = {}
    count = 0
    for (bounds, residues), function in pieces.items():
        for half, classes, weighted in _halves(variable, bounds, residues, function, system):
            for part, names, values in _by_residues(variable, half, classes, weighted, limits):
                for where, summed in _summed(variable, part, values):
                    limits.check()
                    count += 1
                    if count > limits.pieces:
                        raise _TooManyPieces
                    found.setdefault((where, names), []).append(summed)
    totals = ((where, added(functions)) for where, functions in found.items())
    return {where: total for where, total in totals if total}


def _halves(
    variable: int, bounds: Bounds, residues: Residues, function: Function, system: IntegerSystem
) -> Iterator[tuple[Bounds, Residues, Function]]:
    """Split at the mean and multiply by the weight Y^{rate |z - mean|} of the sample."""
    size = len(residues)
    rate, (modulus, remainder) = system.rates[variable], residues[variable]
    distance = system.means[variable] - remainder  # z >= mean is modulus * z' >= distance
    start = -(-distance // modulus)
    unit = tuple(int(i == variable) for i in range(size))
    for sign, bound in ((-1, -start), (1, start - 1)):
        row = tuple(sign * entry for entry in unit)
        half = tightened((*bounds, (row, bound)))
        if half is not None:
            # |z - mean| is -sign * (modulus * z' - distance)
            weight = exponential(size, variable, -sign * rate * modulus, sign * rate * distance)
            yield half, residues, multiplied(function, weight)


def _by_residues(
    variable: int, bounds: Bounds, residues: Residues, function: Function, limits: Limits
) -> Iterator[tuple[Bounds, Residues, Function]]:
    """Split the other variables by residues until all coefficients of `variable` are 1 or -1."""
    rows = [row for row, _ in bounds]
    modulus, split, classes = _classes(variable, rows)
    if not split:
        yield bounds, residues, function
        return
    if classes > limits.pieces:
        raise _TooManyPieces
    for remainders in product(range(modulus), repeat=len(split)):
        limits.check()
        chosen = dict(zip(split, remainders, strict=True))
        part = tightened(
            (
                tuple(a * modulus if i in chosen else a for i, a in enumerate(row)),
                bound - sum(row[i] * r for i, r in chosen.items()),
            )
            for row, bound in bounds
        )
        if part is None:
            continue
        values, names = function, list(residues)
        for i, r in chosen.items():
            form = IntegerForm(tuple(modulus * int(i == j) for j in range(len(residues))), r)
            values = substituted(values, i, form)
            factor, remainder = names[i]  # z = A z' + R and z' = modulus z'' + r
            names[i] = factor * modulus, factor * r + remainder
        yield part, tuple(names), values


def _summed(variable: int, bounds: Bounds, function: Function) -> Iterator[tuple[Bounds, Function]]:
    """Sum one variable out; all its coefficients are 1 or -1."""
    rest = [(row, bound) for row, bound in bounds if not row[variable]]
    lowers, uppers = [], []
    for row, bound in bounds:
        if row[variable] > 0:
            uppers.append(IntegerForm(tuple(-a for a in _cleared(row, variable)), bound))
        elif row[variable] < 0:
            lowers.append(IntegerForm(_cleared(row, variable), -bound))
    sums = antidifference(function, variable)
    if not uppers:
        _require_decay(function, variable, 1)
    if not lowers:
        _require_decay(function, variable, -1)
    less = negated(sums)
    for j, i in product(range(len(uppers)) or (None,), range(len(lowers)) or (None,)):
        conditions, ends = list(rest), []
        if j is not None:
            others = ((k, form) for k, form in enumerate(uppers) if k != j)
            conditions += [_at_most(uppers[j], form, strictly=k < j) for k, form in others]
            ends.append((uppers[j], sums))
        if i is not None:
            others = ((k, form) for k, form in enumerate(lowers) if k != i)
            conditions += [_at_most(form, lowers[i], strictly=k < i) for k, form in others]
            ends.append((lowers[i].plus(-1), less))
        if i is not None and j is not None:
            conditions.append(_at_most(lowers[i], uppers[j]))
        where = tightened(conditions)
        if where is not None:
            yield where, added([substituted(each, variable, end) for end, each in ends])


def _require_decay(function: Function, variable: int, sign: int) -> None:
    """Refuse to sum a function to infinity that does not decay there."""
    if not all(sign * rates[variable] > 0 for _, rates in function):
        raise BrokenInvariant("a sum over integers does not converge")


def _cleared(row: tuple[int, ...], variable: int) -> tuple[int, ...]:
    return (*row[:variable], 0, *row[variable + 1 :])


def _at_most(
    left: IntegerForm, right: IntegerForm, *, strictly: bool = False
) -> tuple[tuple[int, ...], int]:
    """left <= right, or left < right, as Σ a_i z_i <= bound."""
    row = tuple([a - b for a, b in zip(left.coefficients, right.coefficients, strict=True)])
    return row, right.constant - left.constant - int(strictly)
