"""Linear forms of numbers that are not known, and what cells hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from operator import eq, ge, gt, le, lt, ne
from typing import NamedTuple

from dipapprox.kernel.errors import Refused, spend
from dipapprox.kernel.machine import Number, Value

MOST_DIGITS = 1 << 12  # most bits of a number that is computed with
Atom = int  # by number: of a measure a sample, of a path what is not known


class Form(NamedTuple):
    """constant + sum of coefficient * sample, coefficients != 0, by ascending sample."""

    constant: Number
    terms: tuple[tuple[Atom, Number], ...] = ()

    def plus(self, other: Form) -> Form:
        """self + other."""
        if not other.terms:
            return Form(self.constant + other.constant, self.terms)
        return total([(self, 1), (other, 1)])

    def scaled(self, factor: Number) -> Form:
        """factor * self."""
        if not factor:
            return NOTHING
        return Form(factor * self.constant, tuple([(a, factor * c) for a, c in self.terms]))


def _measured(value: Number) -> Number:
    """Return a number that is not too long; denominators grow as fractions are added."""
    if type(value) is Fraction:
        spend(size_of(value))
    return value


def total(parts: Iterable[tuple[Form, Number]], constant: Number = 0) -> Form:
    """A number + sum of factor * form."""
    found = dict[int, Number]()
    for form, factor in parts:
        own = form if factor == 1 else form.scaled(factor)
        if own.constant:
            constant = _measured(constant + own.constant)
        for atom, c in own.terms:
            found[atom] = _measured(found[atom] + c if atom in found else c)
    return Form(constant, tuple(sorted([(atom, c) for atom, c in found.items() if c])))


@lru_cache(1_000)
def only(atom: Atom) -> Form:
    """Return the form that is one sample."""
    return Form(0, ((atom, 1),))


NOTHING = Form(0)


def has_integers(form: Form) -> bool:
    """Whether all numbers of a form are integers."""
    return all(n.denominator == 1 for n in (form.constant, *(c for _, c in form.terms)))


Stored = Value | Form  # a number, a named value, or a linear form that has samples

UNTOLD: Stored = Form(0, ((-1, 0),))
"""Of a cell of which it is not known yet what it holds: no statement makes, and reads, such."""

Store = Mapping[str, Stored]
HOLDS = {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq, "!=": ne}


def over(form: Form, forms: Sequence[Form] | Mapping[int, Form]) -> Form:
    """Put forms in the place of atoms."""
    spend(4)
    if not form.terms:
        return form
    if len(form.terms) == 1 and form.terms[0][1] == 1 and not form.constant:
        return forms[form.terms[0][0]]
    parts = [(own, factor) for atom, factor in form.terms if (own := forms[atom]) != NOTHING]
    spend(sum([size_of(own) + size_of(factor) for own, factor in parts]))
    return total(parts, form.constant)


def copied(store: dict[str, Stored]) -> dict[str, Stored]:
    """Return a copy; copies are what takes the most memory."""
    spend(50 + 4 * len(store))
    return store.copy()  # several times as fast as dict(store), where cells were forgotten


def size_of(value: Stored) -> int:
    """Return how long a value is, in words of 64 bits."""
    if isinstance(value, str):
        return 1
    if isinstance(value, Form):
        return size_of(value.constant) + sum([size_of(factor) for _, factor in value.terms])
    bits = value.numerator.bit_length() + value.denominator.bit_length()
    if bits > MOST_DIGITS:
        raise Refused("a number that is too long")
    return 1 + bits // 64
