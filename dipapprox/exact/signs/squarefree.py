"""Squarefree decomposition of normal forms, as polynomials in ε and one or several exponentials.

A polynomial of moderate degree in y = e^(-ρε) is decomposed as it is: its parts have simple zeros
and none in common (module `normal_form`). Rates with a large common denominator, say multiples of
1/8 and of 12345/10007, make the degree hopeless although few exponentials are behind them. Then the
exponents j are written as integer combinations of a few numbers, and the function as a polynomial
with one variable for each: a decomposition of that is one of the function. But it may miss
something: parts that have a factor in common as functions, or double zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from flint import Ordering, fmpz_mat, fmpz_mpoly_ctx

from dipapprox.data_classes import dataclass
from dipapprox.exact.signs.normal_form import NormalForm, normal_form
from dipapprox.exponentials import Exponent, ExponentialPolynomial

_WORK_BUDGET = 500_000_000
"""Largest degree² times number of terms that is decomposed: two seconds, without a way to stop."""

_MOST_VARIABLES = 6

Vectors = dict[int, tuple[int, ...]]
"""j -> its coordinates, such that j is the same integer combination of them for every j."""


@dataclass(frozen=True, slots=True)
class SquarefreeParts:
    """G = sign * positive function * Π part^exponent.

    Attributes:
        sign: 1 or -1.
        parts: (part, exponent >= 1), the parts not constant.
        complete: Whether the parts are known to have simple zeros only and none in common.
    """

    sign: int
    parts: tuple[tuple[NormalForm, int], ...]
    complete: bool


def squarefree_parts(form: NormalForm) -> SquarefreeParts:
    """Decompose a normal form without rational zeros; if it is too large, as far as possible."""
    if form.groups[-1][0] ** 2 * form.size <= _WORK_BUDGET:
        return _decompose(form, {j: (j,) for j, _ in form.groups}, (1,), True)
    for vectors, values in _lifts(form):
        found = _decompose(form, vectors, values, False)
        if any(exponent > 1 for _, exponent in found.parts):
            return found
    return SquarefreeParts(1, ((form, 1),), False)


def _decompose(
    form: NormalForm, vectors: Vectors, values: tuple[int, ...], complete: bool
) -> SquarefreeParts:
    names = ("x", *(f"y{k}" for k in range(len(values))))
    context = fmpz_mpoly_ctx.get(names, Ordering.lex)
    constant, factors = context.from_dict(
        {(n, *vectors[j]): c for j, row in form.groups for n, c in enumerate(row) if c}
    ).factor_squarefree()
    sign = 1 if constant > 0 else -1
    parts: list[tuple[NormalForm, int]] = []
    for factor, exponent in factors:
        terms: dict[Exponent, Fraction] = {}
        for (n, *powers), c in factor.to_dict().items():
            j = sum(int(power) * value for power, value in zip(powers, values, strict=True))
            key = int(n), -j * form.rate
            terms[key] = terms.get(key, Fraction(0)) + int(c)
        part = normal_form(ExponentialPolynomial.of(terms))
        if part.size > 1:
            parts.append((part, int(exponent)))
        elif exponent % 2 and part.groups[0][1][-1] < 0:
            sign = -sign
    return SquarefreeParts(sign, tuple(parts), complete)


def _lifts(form: NormalForm) -> Iterator[tuple[Vectors, tuple[int, ...]]]:
    """Write the exponents with 2, 3, … coordinates.

    The integer relations Σ r_j j = 0 between the exponents have a basis of short ones. With all
    of them but the k longest, j -> coordinates in k + 1 dimensions is a solution of the rest.
    """
    exponents = [j for j, _ in form.groups if j]
    relations = _kernel([[j] for j in exponents])
    relations.sort(key=lambda row: sum(r * r for r in row))
    for count in range(2, min(_MOST_VARIABLES, len(exponents)) + 1):
        kept = relations[: len(exponents) - count]
        columns = [[row[place] for row in kept] for place in range(len(exponents))]
        basis = _kernel(columns) if kept else _unit(len(exponents))
        values = _coordinates(basis, exponents)
        if values is None:
            continue
        # Adding a constant to a coordinate multiplies the function by a positive one.
        lowest = [min(0, *row) for row in basis]
        vectors: Vectors = {0: tuple(-low for low in lowest)}
        for place, j in enumerate(exponents):
            vectors[j] = tuple(row[place] - low for row, low in zip(basis, lowest, strict=True))
        degree = sum(max(vector) for vector in zip(*vectors.values(), strict=True))
        if degree**2 * form.size <= _WORK_BUDGET:
            yield vectors, values


def _kernel(matrix: list[list[int]]) -> list[list[int]]:
    """Independent short integer row vectors v with v * matrix = 0: usually a basis of them all."""
    size = len(matrix)
    # What is not sent to 0 becomes so long that the reduction puts it last.
    largest = max((abs(value) for row in matrix for value in row), default=0)
    weight = 2 ** (64 + 2 * largest.bit_length())
    rows = [[int(k == place) for k in range(size)] for place in range(size)]
    weighted = [[weight * value for value in row] for row in matrix]
    joined = fmpz_mat([row + more for row, more in zip(rows, weighted, strict=True)])
    reduced = [[int(value) for value in row] for row in joined.lll().tolist()]
    return [row[:size] for row in reduced if not any(row[size:])]


def _unit(size: int) -> list[list[int]]:
    return [[int(k == place) for k in range(size)] for place in range(size)]


def _coordinates(basis: list[list[int]], vector: list[int]) -> tuple[int, ...] | None:
    """The integers x with x * basis = vector, if there are such."""
    rows, row = fmpz_mat(basis), fmpz_mat([vector])
    solution = (rows * rows.transpose()).solve((row * rows.transpose()).transpose())
    if any(entry.q != 1 for entry in solution.entries()):
        return None
    values = tuple(int(entry.p) for entry in solution.entries())
    return values if fmpz_mat([values]) * rows == row else None
