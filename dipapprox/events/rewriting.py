"""Rewrite linear guards into plain comparisons, exactly, by a change of the samples.

Two rules, each preserving the probability:

    sums      λ1·x1 + … + λm·xm of independent Gaussians that occurs in this proportion in every
              guard, and nowhere else, is one Gaussian if its variance is a rational square, and
              in any case a sum of at most four (Lagrange's theorem on sums of squares)
    rescaling x = a·y + b with a != 0 turns α·x_i + β·x_j + c <= 0 into y_i <= y_j (or >=);
              a < 0 is allowed: mirror images of laws are laws

Distributions have rational scales, so a sum with an irrational deviation stays a sum: nothing is
ever rounded. Events of integers stay as they are: a multiple of a discrete law is none, and shifts
by halves would take the samples off the integers.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

from dipapprox.distributions import Distribution, Family
from dipapprox.events.event import Event
from dipapprox.semantics.linear import LinearForm, Symbol

_IDENTITY = (Fraction(1), Fraction(0))  # x = 1·y + 0
_LARGEST_SQUARE_SEARCH = 10_000  # candidates tried for one square of a sum of squares


def as_comparisons(event: Event) -> Event:
    """Return an event of equal probability with as many plain comparisons as the rules reach.

    Guards come out as y_i - y_j <= 0, y_i - y_j + c <= 0, ±y_i + c <= 0 or, where no rule
    applies, as general normalised forms.
    """
    if all(_is_plain(guard) for guard in event.guards) and len(event.samples) > 2:
        return event
    if any(law.family.is_discrete for law in event.samples):
        return event
    return _rescaled(_with_merged_sums(event))


def _is_plain(form: LinearForm) -> bool:
    match form.terms:
        case ((_, a),):
            return a.denominator == 1 == abs(a.numerator)
        case ((_, a), (_, b)):
            units = a.denominator == 1 == b.denominator and abs(a.numerator) == 1
            return units and a.numerator == -b.numerator and not form.constant.numerator
        case _:
            return False


# --- sums of Gaussians ----------------------------------------------------------------------------


def _with_merged_sums(event: Event) -> Event:
    """Merge Gaussians whose coefficients are proportional over all guards."""
    columns: list[dict[int, Fraction]] = [{} for _ in event.samples]
    for position, guard in enumerate(event.guards):
        for sample, coefficient in guard.terms:
            assert isinstance(sample, int)
            columns[sample][position] = coefficient
    groups: dict[object, list[int]] = {}
    for sample, column in enumerate(columns):
        if not column:
            continue  # in no guard, so in no sum
        leading = next(iter(column.values()))
        direction = tuple((position, c / leading) for position, c in column.items())
        gaussian = event.samples[sample].family is Family.GAUSSIAN
        groups.setdefault(direction if gaussian else sample, []).append(sample)
    samples = list(event.samples)
    replaced: dict[Symbol, LinearForm] = {}
    for members in groups.values():
        weights = [next(iter(columns[m].values())) for m in members]
        merged = _sum_of_gaussians([event.samples[m] for m in members], weights)
        if len(merged) >= len(members):
            continue
        # Σ weight·member becomes Σ merged: the first member stands for it, the others vanish.
        fresh = range(len(samples), len(samples) + len(merged))
        samples += merged
        total = LinearForm.of({k: Fraction(1) for k in fresh})
        replaced[members[0]] = total.scaled(1 / weights[0])
        replaced |= dict.fromkeys(members[1:], LinearForm.constant_form(0))
    if not replaced:
        return event
    return _compact(samples, [guard.substitute(replaced) for guard in event.guards])


def _compact(samples: list[Distribution], guards: list[LinearForm]) -> Event:
    """Drop the samples that no guard mentions."""
    used = sorted({sample for guard in guards for sample in guard.samples()})
    local: dict[Symbol, Symbol] = {sample: k for k, sample in enumerate(used)}
    return Event(
        tuple(samples[sample] for sample in used),
        tuple(guard.renamed(local.__getitem__).normalised() for guard in guards),
    )


def _sum_of_gaussians(laws: list[Distribution], weights: list[Fraction]) -> list[Distribution]:
    """Return few independent Gaussians whose sum has the law of Σ weight·x; possibly not fewer."""
    if len(laws) == 1:
        return laws
    mean = sum((w * law.mean for w, law in zip(weights, laws, strict=True)), Fraction(0))
    variance = sum(((w * law.scale) ** 2 for w, law in zip(weights, laws, strict=True)))
    assert isinstance(variance, Fraction)
    scales = sum_of_squares(variance, len(laws) - 1)
    if scales is None:
        return laws
    means = [mean] + [Fraction(0)] * (len(scales) - 1)
    return [Distribution(Family.GAUSSIAN, m, s) for m, s in zip(means, scales, strict=True)]


def sum_of_squares(value: Fraction, most: int) -> list[Fraction] | None:
    """Write a rational > 0 as the sum of the fewest, but at most `most`, rational squares > 0.

    Returns:
        The numbers that are squared, positive; None if there is no such sum or the search, which
        is bounded, did not find it.
    """
    # p/q = (p·q)/q², and square factors of p·q only scale the result.
    number = value.numerator * value.denominator
    factor = Fraction(1, value.denominator)
    for divisor in (2, 3, 5, 7, 11, 13):
        while number % (divisor * divisor) == 0:
            number //= divisor * divisor
            factor *= divisor
    for count in range(1, min(most, 4) + 1):
        roots = _integer_squares(number, count)
        if roots is not None:
            return [root * factor for root in roots]
    return None


def _integer_squares(number: int, count: int) -> list[int] | None:
    """Write `number` as the sum of exactly `count` positive squares, greatest first."""
    root = isqrt(number)
    if count == 1:
        return [root] if root and root * root == number else None
    for first in range(root, max(0, root - _LARGEST_SQUARE_SEARCH // 10 ** (count - 2)), -1):
        rest = _integer_squares(number - first * first, count - 1)
        if rest is not None:
            return [first, *rest]
    return None


# --- rescaling and shifting -----------------------------------------------------------------------


def _rescaled(event: Event) -> Event:
    """Substitute x = a·y + b so that the two-sample guards of a spanning forest become plain."""
    links = [guard for guard in event.guards if len(guard.terms) == 2]
    # Guards that are plain already come first: they fix equal scales, then equal shifts.
    links.sort(key=lambda g: (g.terms[0][1] != -g.terms[1][1], g.constant != 0))
    group = list(range(len(event.samples)))
    members = {sample: [sample] for sample in group}
    change = [_IDENTITY for _ in group]
    for guard in links:
        (i, alpha), (j, beta) = guard.terms
        assert isinstance(i, int)
        assert isinstance(j, int)
        if group[i] == group[j]:
            continue
        constant = guard.constant
        if len(members[group[i]]) < len(members[group[j]]):
            i, alpha, j, beta = j, beta, i, alpha
        # α·(a_i·y_i + b_i) + β·(a_j·y_j + b_j) + c becomes α·a_i·(y_i - y') by y_j = factor·y' +
        # shift. All of j's group is moved alike, which keeps its guards plain.
        a_i, b_i = change[i]
        a_j, b_j = change[j]
        factor = -alpha * a_i / (beta * a_j)
        shift = (-(constant + alpha * b_i) / beta - b_j) / a_j
        moved = members.pop(group[j])
        for k in moved:
            a_k, b_k = change[k]
            change[k] = (a_k * factor, a_k * shift + b_k)
            group[k] = group[i]
        members[group[i]] += moved
    laws = [
        law if (a, b) == _IDENTITY else law.affine(1 / a, -b / a)
        for law, (a, b) in zip(event.samples, change, strict=True)
    ]
    values: dict[Symbol, LinearForm] = {
        k: LinearForm.of({k: a}, b) for k, (a, b) in enumerate(change) if (a, b) != _IDENTITY
    }
    guards = (guard.substitute(values).normalised() for guard in event.guards)
    return Event(tuple(laws), tuple(guards))
