"""Weights of any integer systems: sums over one sample between its bounds, piece by piece.

What is summed out of a system, and how, is in `variables`. To sum x out of a piece,

    x < mean | x >= mean     split, so that the weight of x is one exponential
    a x <= …, |a| > 1        replace the others by v = A v' + r for every residue r: then a divides
                             their coefficients, and with the bound rounded down it is x <= …

so that all ends are affine with integer coefficients: Σ f = G(U) - G(L - 1) with an antidifference
G. Variables with bounds by few others come first: forests are summed leaf by leaf.
A bound that is missing contributes nothing: let R be a piece in which x has no lower bound. Moving
x to -∞, and the summed samples with it by the linear parts of the bounds that were put for them,
meets the homogeneous inequalities of the whole system, the splits at the means included; along
this direction Σ rates |z| grows in every monomial of f, so that every monomial decays.

References:
    DiPC paper, Lemma 17; the recursion is Lemma 18's, for sums.

Sums. Functions Σ c · Π k_i^{m_i} · Y^{Σ e_i k_i} of integer variables, and their sums.

They are closed under products with exponentials, under substitution of affine forms with integer
coefficients, and under summation between affine bounds: the discrete counterpart of exponential
polynomials under integration. Coefficients c are `LatticeRatio`s. All variables of a problem have a
place in every monomial; a variable that does not occur has power 0 and rate 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, lru_cache
from itertools import product
from math import comb, lcm

from dipapprox.arithmetic.enclosure import NotEnclosed
from dipapprox.errors import BrokenInvariant
from dipapprox.events.event import Event, Star, spelled_out
from dipapprox.exact.integers.lattice_ratios import (
    ONE,
    ZERO,
    LatticeRatio,
    SumTooLong,
    constant,
    inverse_of_one_minus,
    lattice_sum,
)
from dipapprox.exact.variables import (
    AffineEnd,
    Bounds,
    Piece,
    Residues,
    Row,
    TooMuch,
    VariableElimination,
    rows_of,
)
from dipapprox.exponentials import ExponentialRatio
from dipapprox.laws.distribution import Distribution
from dipapprox.limits import check_limits, current
from dipapprox.linear.form import content
from dipapprox.linear.zones import potentials, tight

_MOST_TERMS = 100_000  # of a function
Powers = tuple[int, ...]
Monomial = tuple[Powers, tuple[int, ...]]  # (powers m, rates e) of Π k_i^{m_i} · Y^{Σ e_i k_i}
Function = Mapping[Monomial, LatticeRatio]
"""Coefficients by monomial, none of them 0; treated as immutable."""


Terms = Iterator[tuple[Monomial, LatticeRatio]]  # of a function, equal monomials not yet added up


def substituted(function: Function, variable: int, row: Powers, number: int) -> Terms:
    """Put Σ row[i] · k_i + number, in which the variable itself may occur, for a variable."""
    for (powers, rates), c in function.items():
        rate = rates[variable]
        left = _without(powers, variable)
        new_rates = _without(rates, variable)
        if rate:
            new_rates = tuple(e + rate * a for e, a in zip(new_rates, row, strict=True))
        moved = c.shifted(rate * number)
        for extra, factor in _power(row, number, powers[variable]):
            yield (_plus(left, extra), new_rates), moved if factor == 1 else moved.scaled(factor)


def antidifference(function: Function, variable: int) -> Terms:
    """Return G with G(k) - G(k - 1) = function(k) in one variable k, as formal expressions.

    The sum over L <= k <= U is G(U) - G(L - 1), also for the empty range U = L - 1. Where the
    function decays towards infinity, so does G: an infinite range has no second term.
    """
    for (powers, rates), c in function.items():
        for power, factor in enumerate(_antidifference(powers[variable], rates[variable])):
            if factor:
                yield ((*powers[:variable], power, *powers[variable + 1 :]), rates), c * factor


@cache
def _antidifference(power: int, rate: int) -> tuple[LatticeRatio, ...]:
    """Return g with Σ_l g_l k^l Y^{rate k} an antidifference of k^power Y^{rate k}.

    With P(k) = Σ g_l k^l and ρ = Y^rate, comparing coefficients of P(k) - P(k - 1)/ρ = k^power:

        (1 - 1/ρ) g_l = [l = power] + (1/ρ) Σ_{j > l} g_j C(j, l) (-1)^(j - l)

    For ρ = 1 the left side is 0, and the same equations give g_{l + 1} (Faulhaber).
    """
    top = power if rate else power + 1
    found: dict[int, LatticeRatio] = {}
    for low in range(power, -1, -1):
        index = low if rate else low + 1
        right = [constant(1 if low == power else 0)]
        right += [
            found[j].scaled(comb(j, low) * (-1) ** (j - low)).shifted(-rate)
            for j in range(index + 1, top + 1)
        ]
        total = lattice_sum(right)
        if rate == 0:
            # The term of g_{low + 1} on the right is -(low + 1) g_{low + 1}.
            found[index] = total.scaled(Fraction(1, index))
        elif rate > 0:
            # 1 - 1/ρ = -(1 - Y^rate) / Y^rate
            found[index] = (-total * inverse_of_one_minus(rate)).shifted(rate)
        else:
            found[index] = total * inverse_of_one_minus(-rate)
    return tuple(found.get(index, constant(0)) for index in range(top + 1))


@lru_cache(maxsize=4096)
def _power(row: Powers, number: int, power: int) -> tuple[tuple[Powers, int], ...]:
    """Expand (Σ a_i k_i + b)^power as (powers, coefficient)."""
    size = len(row)
    terms: dict[Powers, int] = {(0,) * size: 1}
    linear = [(tuple(int(i == j) for j in range(size)), a) for i, a in enumerate(row) if a]
    if number:
        linear.append(((0,) * size, number))
    for _ in range(power):
        longer: dict[Powers, int] = {}
        for powers, c in terms.items():
            for extra, a in linear:
                key = _plus(powers, extra)
                longer[key] = longer.get(key, 0) + c * a
        terms = longer
    return tuple((powers, c) for powers, c in terms.items() if c)


def _plus(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([a + b for a, b in zip(left, right, strict=True)])


def _without(entries: tuple[int, ...], variable: int) -> tuple[int, ...]:
    return (*entries[:variable], 0, *entries[variable + 1 :])


def discrete_probability(event: Event | Star) -> ExponentialRatio | NotEnclosed:
    """Return the exact probability of an event of discrete Laplace samples with integer means.

    With Y = e^{-unit * ε} weights are Π Y^{rate |z - mean|}, and then normalised: those of one
    sample add up to (1 + q) / (1 - q), q = Y^rate (DiPC paper, Lemma 17).

    Returns:
        A function of ε', every scale s being s / ε', for any ε' > 0; all factors of its denominator
        are positive there, and it has no powers of ε'. Or why there is none.
    """
    event = spelled_out(event)
    for law in event.samples:
        if not law.family.is_exponential:
            return NotEnclosed(f"outside-fragment: {law.family.title} noise has no closed form")
        if not law.family.is_discrete:
            return NotEnclosed("outside-fragment: not all samples are integers")
        if law.mean.denominator != 1:
            return NotEnclosed(f"the mean {law.mean} of a discrete Laplace sample is no integer")
    unit = content([1 / law.scale for law in event.samples])
    work = Integers(event.samples, unit)
    try:
        nothing = (0,) * work.size
        total = work.total(rows_of(event), {(nothing, nothing): ONE})
        if total.keys() - {(nothing, nothing)}:
            raise BrokenInvariant("a summed variable is left")
        # (1 - q) / (1 + q) = (1 - q)² / (1 - q²)
        powers: dict[int, int] = {}
        for rate in work.rates:
            powers[rate] = powers.get(rate, 0) + 2
            powers[2 * rate] = powers.get(2 * rate, 0) - 1
        return sum(total.values(), ZERO).times_powers(powers).as_exponentials(unit)
    except TooMuch as much:
        return NotEnclosed(f"integration-budget: more than {much} of one sum")
    except SumTooLong:
        return NotEnclosed("integration-budget: the closed form has too many terms")


class Integers(VariableElimination[Monomial, LatticeRatio]):
    """Independent discrete Laplace samples with Pr[z_i] ∝ Y^{rates[i] * |z_i - mean_i|}."""

    are_integers = True

    def __init__(self, laws: Sequence[Distribution], unit: Fraction) -> None:
        super().__init__(len(laws))
        self._laws = laws
        self.rates = [int(1 / law.scale / unit) for law in laws]

    def irredundant(self, tightest: Mapping[Row, Fraction | int]) -> Bounds | None:
        """In systems of differences drop whatever is implied, by shortest paths.

        It is then known exactly whether there is a solution.
        """
        for row, bound in tightest.items() if len(tightest) > 1 else ():
            opposite = tightest.get(tuple([-a for a in row]))
            if opposite is not None and bound + opposite < 0:
                return None
        bounds = tuple(sorted(tightest.items()))
        edges = [_edge(row, int(bound)) for row, bound in bounds]
        between = {(u, v): bound for u, v, bound in filter(None, edges)}
        if len(between) < len(bounds):
            return bounds
        if potentials([(u, v, bound) for (u, v), bound in between.items()], 0) is None:
            return None
        # A path of equal length implies a bound; where a cycle has length 0, two may need each
        # other, and all stay.
        kept = tight({edge: bound * len(edges) * 2 - 1 for edge, bound in between.items()})
        if kept is None:
            return bounds
        return tuple([each for each, edge in zip(bounds, between, strict=True) if edge in kept])

    def difficulty(self, variable: int, systems: Iterable[Bounds]) -> tuple[int, int]:
        """Residue classes, then bounds by others, that summing a variable out now takes."""
        classes = made = 0
        for bounds in systems:
            involved = [row for row, _ in bounds if row[variable]]
            classes += _classes(variable, involved)[2] - 1
            made += sum([row.count(0) < len(row) - 1 for row in involved])
        return classes, made

    def sides(
        self, variable: int, piece: Piece, weight: Function
    ) -> Iterator[tuple[Piece, Function]]:
        """Multiply by Y^{rate |z - mean|} on each side, then split the others by residues."""
        bounds, residues = piece
        rate, (modulus, remainder) = self.rates[variable], residues[variable]
        distance = (
            self._laws[variable].mean.numerator - remainder
        )  # z >= mean: modulus * z' >= distance
        start = -(-distance // modulus)
        for sign, bound in ((-1, -start), (1, start - 1)):
            row = tuple([sign * (i == variable) for i in range(self.size)])
            half = self.tightened((*bounds, (row, bound)))
            if half is not None:
                # |z - mean| is -sign * (modulus * z' - distance)
                if len(weight) > _MOST_TERMS:
                    raise SumTooLong
                slope, shift = -sign * rate * modulus, sign * rate * distance
                weighted = {
                    (powers, tuple([e + slope * (i == variable) for i, e in enumerate(rates)])): (
                        c.shifted(shift)
                    )
                    for (powers, rates), c in weight.items()
                }
                yield from self._by_residues(variable, half, residues, weighted)

    def _by_residues(
        self, variable: int, bounds: Bounds, residues: Residues, function: Function
    ) -> Iterator[tuple[Piece, Function]]:
        """Split the other variables by residues until all coefficients of `variable` are ± 1."""
        modulus, split, classes = _classes(variable, [row for row, _ in bounds])
        if not split:
            yield (bounds, residues), function
            return
        if classes > current().pieces:
            raise TooMuch(f"{current().pieces} pieces")
        for remainders in product(range(modulus), repeat=len(split)):
            check_limits()
            chosen = dict(zip(split, remainders, strict=True))
            part = self.tightened(
                (
                    tuple([a * modulus if i in chosen else a for i, a in enumerate(row)]),
                    bound - sum(row[i] * r for i, r in chosen.items()),
                )
                for row, bound in bounds
            )
            if part is None:
                continue
            values, names = function, list(residues)
            for i, r in chosen.items():
                row = tuple([modulus * int(i == j) for j in range(self.size)])
                values = self._added(substituted(values, i, row, r))
                factor, remainder = names[i]  # z = A z' + R and z' = modulus z'' + r
                names[i] = factor * modulus, factor * r + remainder
            yield (part, tuple(names)), values

    def primitive(self, weight: Function, variable: int) -> Function:
        return self._added(antidifference(weight, variable))

    def at(
        self, primitive: Function, variable: int, end: AffineEnd, sign: int
    ) -> Iterator[tuple[Monomial, LatticeRatio]]:
        """G at the upper end, or -G one below the lower end."""
        place = int(end.constant) - (sign < 0)
        for monomial, c in substituted(primitive, variable, end.coefficients, place):
            yield monomial, c if sign > 0 else -c

    def growth(self, monomial: Monomial, variable: int) -> int:
        return -monomial[1][variable]

    def summed(self, coefficients: Sequence[LatticeRatio]) -> LatticeRatio:
        return lattice_sum(coefficients) if len(coefficients) > 1 else coefficients[0]


def _classes(variable: int, rows: Sequence[tuple[int, ...]]) -> tuple[int, tuple[int, ...], int]:
    """Return the modulus, the variables to be split by residues, and the number of classes."""
    uneven = [row for row in rows if abs(row[variable]) > 1]
    modulus = lcm(*(row[variable] for row in uneven))
    others = {i for row in uneven for i, a in enumerate(row) if a and i != variable}
    split = tuple(sorted(others)) if modulus > 1 else ()
    return modulus, split, modulus ** len(split)


def _edge(row: Row, bound: int) -> tuple[int, int, int] | None:
    """Read z_v - z_u <= bound as (u, v, bound); vertex -1 stands for 0. None: no difference."""
    head = tail = -1
    for i, a in enumerate(row):
        if a == 1 and head < 0:
            head = i
        elif a == -1 and tail < 0:
            tail = i
        elif a:
            return None
    return tail, head, bound
