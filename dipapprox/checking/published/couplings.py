"""Pure budgets of a pair of inputs: the noise of every path is moved, at a price.

Let the samples x of a path at u be moved to x + d, so that at u' all lines of some path hold, the
same is published, and the same chances happen. If no density falls by more than e^K, then

    Pr_u[path, outputs in S]  <=  e^K Pr_u'[the other path, outputs in S],

as the move is one to one and keeps volumes; and if different paths lead to different ones, no set
is more than e^K times as likely at u. With d = t + the change of the means, Laplace noise costs
|t| / b, one-sided noise the same where it moves away from its end, and else is not moved: t = 0.

The moves are looked for by a linear programme; what it says is not trusted: lines and prices are
examined in exact rationals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm

from dipapprox.checking.facts import Line
from dipapprox.checking.published.outcomes import Ending, Endings, Outcome
from dipapprox.distributions import Family
from dipapprox.limits import Limits
from dipapprox.linear_programme import LinearProgramme, Optimum, Side

_ZERO = Fraction(0)

_SIDES = {
    Family.LAPLACE: Side.ANY,
    Family.EXPONENTIAL: Side.AT_LEAST_ZERO,
    Family.REFLECTED_EXPONENTIAL: Side.AT_MOST_ZERO,
}


def pure_budget(
    first: Mapping[Outcome, Endings], second: Mapping[Outcome, Endings], limits: Limits
) -> Fraction | None:
    """Return a K so that no set is more than e^K times as likely at the first input as at the
    second; None if none is found."""
    worst = _ZERO
    for outcome, endings in first.items():
        open_ones = list(second.get(outcome, ()))
        for ending in endings:
            limits.check()
            best: tuple[Fraction, int] | None = None
            for place, other in enumerate(open_ones):
                price = _price(ending, other, limits)
                if price is not None and (best is None or price < best[0]):
                    best = price, place
            if best is None:
                return None
            worst = max(worst, best[0])
            del open_ones[best[1]]
    return worst


def _price(ending: Ending, other: Ending, limits: Limits) -> Fraction | None:
    """Return what a move from one path into another costs; None if none is found."""
    kinds = [[(law.family, law.scale) for law in each.laws] for each in (ending, other)]
    if kinds[0] != kinds[1] or ending.chances != other.chances:
        return None
    change = [b.mean - a.mean for a, b in zip(ending.laws, other.laws, strict=True)]
    rows = _rows(ending, other, change)
    if rows is None:
        return None
    rates = [1 / law.scale if law.family in _SIDES else None for law in ending.laws]
    sides = [_SIDES.get(law.family, Side.ANY) for law in ending.laws]
    moves = _cheapest(rows, rates, sides, limits)
    if moves is None or not _holds(moves, rows, rates, sides):
        return None
    return sum((abs(t) * (rate or 0) for t, rate in zip(moves, rates, strict=True)), _ZERO)


def _rows(ending: Ending, other: Ending, change: Sequence[Fraction]) -> list[Line] | None:
    """Return lines over the t that are to be <= 0; None if some line of the other path follows from
    no single one of this path."""
    known: dict[tuple[tuple[int, Fraction], ...], Fraction] = {}
    for line in ending.lines:
        unit = line.in_unit()
        known[unit.terms] = max(unit.constant, known.get(unit.terms, unit.constant))
    rows: list[Line] = []
    for line in other.lines:
        unit = line.in_unit()
        if unit.terms not in known:
            return None
        # Σ c x <= -known, and Σ c (x + d) + constant <= 0 is to follow.
        rows.append(_moved(unit, change) + Line(-known[unit.terms]))
    for here, there in zip(ending.numbers, other.numbers, strict=True):
        if here.terms != there.terms:
            return None
        same = _moved(there, change) + Line(-here.constant)
        rows += [same, same.times(Fraction(-1))]
    return rows


def _moved(line: Line, change: Sequence[Fraction]) -> Line:
    shift = sum((c * change[sample] for sample, c in line.terms), _ZERO)
    return line + Line(shift)


def _cheapest(
    rows: Sequence[Line], rates: Sequence[Fraction | None], sides: Sequence[Side], limits: Limits
) -> list[Fraction] | None:
    """Look for the cheapest t; those in no row are 0."""
    named = sorted({sample for row in rows for sample, _ in row.terms})
    place = {sample: k for k, sample in enumerate(named)}
    unit = lcm(*(rate.denominator for rate in rates if rate is not None))
    table: list[dict[int, int]] = []
    right: list[int] = []
    for row in rows:
        scale = lcm(row.constant.denominator, *(c.denominator for _, c in row.terms))
        table.append({place[sample]: int(c * scale) for sample, c in row.terms})
        right.append(int(-row.constant * scale))
    own = [rates[sample] for sample in named]
    programme = LinearProgramme(
        table,
        [None if rate is None else int(rate * unit) for rate in own],
        [sides[sample] for sample in named],
        limits,
    )
    found = programme.solve(right)
    if not isinstance(found, Optimum):
        return None
    moves = [_ZERO] * len(rates)
    for sample, t in zip(named, found.shift, strict=True):
        moves[sample] = t
    return moves


def _holds(
    moves: Sequence[Fraction],
    rows: Sequence[Line],
    rates: Sequence[Fraction | None],
    sides: Sequence[Side],
) -> bool:
    for row in rows:
        if row.constant + sum((c * moves[sample] for sample, c in row.terms), _ZERO) > 0:
            return False
    for t, rate, side in zip(moves, rates, sides, strict=True):
        if rate is None and t:
            return False
        if (side is Side.AT_LEAST_ZERO and t < 0) or (side is Side.AT_MOST_ZERO and t > 0):
            return False
    return True
