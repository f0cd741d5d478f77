"""Functions Σ c · Π k_i^{m_i} · Y^{Σ e_i k_i} of integer variables, and their sums.

They are closed under products with exponentials, under substitution of affine forms with integer
coefficients, and under summation between affine bounds: the discrete counterpart of exponential
polynomials under integration. Coefficients c are `LatticeRatio`s. All variables of a problem have a
place in every monomial; a variable that does not occur has power 0 and rate 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache, lru_cache
from math import comb

from dipapprox.exact.integers.lattice_ratios import (
    ONE,
    LatticeRatio,
    SumTooLong,
    constant,
    inverse_of_one_minus,
    lattice_sum,
)

_MOST_TERMS = 100_000
"""Of a function."""

Powers = tuple[int, ...]
Monomial = tuple[Powers, tuple[int, ...]]
"""(powers m, rates e) of Π k_i^{m_i} · Y^{Σ e_i k_i}."""

Function = Mapping[Monomial, LatticeRatio]
"""Coefficients by monomial, none of them 0; treated as immutable."""


def one(size: int) -> Function:
    """The constant function 1 of `size` variables."""
    return {((0,) * size, (0,) * size): ONE}


def times_exponential(function: Function, variable: int, rate: int, shift: int) -> Function:
    """function * Y^(rate * k + shift), k one of its variables.

    Raises:
        SumTooLong: If there are too many terms.
    """
    if len(function) > _MOST_TERMS:
        raise SumTooLong
    return {
        (powers, (*rates[:variable], rates[variable] + rate, *rates[variable + 1 :])): c.shifted(
            shift
        )
        for (powers, rates), c in function.items()
    }


def substituted(function: Function, variable: int, row: Powers, number: int) -> Function:
    """Put Σ row[i] · k_i + number, in which the variable itself may occur, for a variable."""
    terms: dict[Monomial, list[LatticeRatio]] = {}
    for (powers, rates), c in function.items():
        rate = rates[variable]
        left = _without(powers, variable)
        new_rates = _without(rates, variable)
        if rate:
            new_rates = tuple(e + rate * a for e, a in zip(new_rates, row, strict=True))
        moved = c.shifted(rate * number)
        for extra, factor in _power(row, number, powers[variable]):
            terms.setdefault((_plus(left, extra), new_rates), []).append(
                moved if factor == 1 else moved.scaled(factor)
            )
    return _summed(terms)


def antidifference(function: Function, variable: int) -> Function:
    """Return G with G(k) - G(k - 1) = function(k) in one variable k, as formal expressions.

    The sum over L <= k <= U is G(U) - G(L - 1), also for the empty range U = L - 1. Where the
    function decays towards infinity, so does G: an infinite range has no second term.
    """
    terms: dict[Monomial, list[LatticeRatio]] = {}
    for (powers, rates), c in function.items():
        left = _without(powers, variable)
        for power, factor in enumerate(_antidifference(powers[variable], rates[variable])):
            if factor:
                extra = tuple(power if i == variable else 0 for i in range(len(powers)))
                terms.setdefault((_plus(left, extra), rates), []).append(c * factor)
    return _summed(terms)


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


def _summed(terms: dict[Monomial, list[LatticeRatio]]) -> Function:
    summed = ((key, lattice_sum(c) if len(c) > 1 else c[0]) for key, c in terms.items())
    return {key: c for key, c in summed if c}


def _plus(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([a + b for a, b in zip(left, right, strict=True)])


def _without(entries: tuple[int, ...], variable: int) -> tuple[int, ...]:
    return (*entries[:variable], 0, *entries[variable + 1 :])
