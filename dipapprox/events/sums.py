"""Samples that are used only together, and the laws of their sums.

In: linear forms, guards and published numbers, over independent samples. Out: the sums that stand
for all samples in them, as the forms weigh these samples in one proportion; and the law of a sum as
that of fewer independent terms. Fewer are, up to multiples of real samples,

    Gauss(m, s) + Gauss(n, t)       as    Gauss(m + n, root of s² + t²)
    X(m, b) + X'(n, b)              as    D(m + n, b), where X' is the mirror image of X and D its
                                          `difference` (`laws`): LapPlus + LapMinus is Lap
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.laws.distribution import Distribution
from dipapprox.linear.form import LinearForm, Symbol, content


@dataclass(frozen=True, slots=True)
class LawOfSum:
    """The law of a sum: independent terms add up."""

    mean: Fraction
    variance: Fraction  # of the one Gaussian term; 0: there is none
    # (factor, law) of the others; factors are 1 but for integer samples, where they are positive
    # integers if the sum's coefficients are integers.
    terms: tuple[tuple[Fraction, Distribution], ...]


def used_together(forms: Iterable[LinearForm]) -> tuple[LinearForm, ...]:
    """Return the sums of two samples and more that forms depend on, not on the single samples.

    They have no constants, and come in the order of their first samples, up to factors.
    """
    columns: dict[int, dict[int, Fraction]] = {}
    for place, form in enumerate(forms):
        for sample in form.samples():
            columns.setdefault(sample, {})[place] = form.coefficient(sample)
    groups: dict[tuple[tuple[int, Fraction], ...], dict[Symbol, Fraction]] = {}
    for sample, column in sorted(columns.items()):
        unit = next(iter(column.values()))
        direction = tuple((place, c / unit) for place, c in column.items())
        groups.setdefault(direction, {})[sample] = unit
    return tuple(LinearForm.of(group) for group in groups.values() if len(group) > 1)


def leading(form: LinearForm) -> LinearForm:
    """Return the multiple of a form that is not constant whose first coefficient is 1."""
    return form.scaled(1 / form.terms[0][1])


def primitive(form: LinearForm) -> LinearForm:
    """Return the multiple with coprime integer coefficients, the first of them positive."""
    unit = content(c for _, c in form.terms)
    return form.scaled(1 / (unit if form.terms[0][1] > 0 else -unit))


def law_of(form: LinearForm, laws: Sequence[Distribution]) -> LawOfSum:
    """Return the law of a sum without constant, in as few terms as closed forms make it."""
    mean = variance = Fraction(0)
    others: list[tuple[Fraction, Distribution]] = []
    for symbol, c in form.terms:
        law = laws[int(symbol)]
        if law.family.is_normal:
            mean += c * law.mean
            variance += (c * law.scale) ** 2
        elif law.family.is_discrete:
            sign = Fraction(1 if c > 0 else -1)
            others.append((abs(c), law.affine(sign, Fraction(0))))
        else:
            others.append((Fraction(1), law.affine(c, Fraction(0))))
    return LawOfSum(mean, variance, tuple(_two_sided(others)))


def _two_sided(
    terms: Iterable[tuple[Fraction, Distribution]],
) -> list[tuple[Fraction, Distribution]]:
    """Make one law of two of equal scale that are mirror images, if their sum has a name."""
    found: list[tuple[Fraction, Distribution]] = []
    for factor, law in terms:
        difference = law.family.difference
        for place, (_, other) in enumerate(found):
            if difference is None or other.family is not law.family.mirror:
                continue
            if other.scale == law.scale:
                found[place] = factor, Distribution(difference, other.mean + law.mean, law.scale)
                break
        else:
            found.append((factor, law))
    return found
