"""Comparisons of integer samples as guards: cut in the middle between two integers.

With integer coefficients a_i that have no common factor, Z = Σ a_i·z_i takes integer values, and so
does the part L over inputs after splitting on inputs where it does not. Then, for any constant c,

    Z + L + c <= 0   is   Z + L + ⌈c⌉ - 1/2 <= 0        since Z + L <= ⌊-c⌋ = -⌈c⌉
    Z + L + c <  0   is   Z + L + ⌊c⌋ + 1/2 <= 0        since Z + L <= ⌈-c⌉ - 1 = -⌊c⌋ - 1

and no integer point lies on the boundary of such a guard. Everything that is done to guards of
reals "up to null sets" is therefore exact for integers:

    If A and B are finite unions of polyhedra that such guards cut out, and A is contained in B up
    to a null set, then B contains the integer points of A.

Proof. An integer point of A lies in the interior of a polyhedron of A, because it is on none of its
boundaries; so do all real points nearby. None of B's boundaries goes through it either, so nearby
points are all in B or all outside. Were they outside, A without B would contain an open set.

- A guard that is implied (B a half-space) or contradicted (B empty) by others up to a null set is
  implied or contradicted at all integer points.
- A merged region is the union of its parts up to a null set, hence at all integer points, if its
  own guards are cut as above. They are: integer samples are compared with fixed points and in
  guards of other shapes only, and a cover x < y of a merged order, x or y an integer sample, was
  assumed in each part. For let a total order that agrees with the merged one have x and y next to
  each other. It belongs to some part. If no guard there compared x with y, the part would contain
  the order with x and y exchanged, too; the merged order does not, but contains the part.
- Systems of guards with an interior need not contain an integer point: what is not contradicted
  may still be impossible. That costs states, not truth.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor

from dipapprox.linear.form import LinearForm, Symbol, content
from dipapprox.semantics.inputs import Knowledge, NeedsValue
from dipapprox.semantics.state import Guard

_HALF = Fraction(1, 2)


def coprime(form: LinearForm) -> LinearForm:
    """Multiply a form by a positive number so that its samples have coprime integer factors."""
    return form.scaled(1 / content(c for s, c in form.terms if isinstance(s, int)))


def with_integer_inputs(form: LinearForm, knowledge: Knowledge) -> LinearForm:
    """Replace the inputs of a form that may contribute a fraction by their values.

    Raises:
        NeedsValue: If a path does not know such a value.
    """
    known: dict[Symbol, Fraction] = {}
    for cell in form.inputs():
        if knowledge.is_integer(cell, form.coefficient(cell)):
            continue
        values = [value for value in knowledge.values(cell) if isinstance(value, Fraction)]
        if len(values) > 1:
            raise NeedsValue(cell)
        known[cell] = values[0]
    return form.at(known)


def integer_guard(form: LinearForm, strict: bool) -> Guard:
    """The guard form <= 0, or < 0 if `strict`, for a `coprime` form with integer inputs."""
    constant = floor(form.constant) + _HALF if strict else ceil(form.constant) - _HALF
    # Strictness means nothing afterwards; it is chosen so that complements look like each other.
    return Guard(LinearForm(form.terms, constant).normalised(), form.terms[0][1] < 0)
