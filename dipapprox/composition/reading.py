"""What a loss distribution says: its H at factors e^ε, and where H falls to δ.

With sums over the losses above ε, A = Σ p + p_∞ and G = Σ q e^(ℓ₀ - ℓ) for the least ℓ₀ of them,

    H(e^ε) = A - e^(ε - ℓ₀) G,    so   H(e^ε) <= δ  exactly if  e^(ε - ℓ₀) >= (A - δ) / G.

A is a whole number. G is summed from the greatest loss down, G ↦ q + G e^-h, in whole numbers that
are rounded down to bound H from above, and up to bound it from below. There, as p and q differ, the
losses of one more step may be better; the sums over any losses are a bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from flint import arb

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.precision import enclosure_of, precision, to_ball, to_enclosure
from dipapprox.composition.losses import BoundSide, LossRow
from dipapprox.composition.profile import BallProfile

_GUARD_BITS = 32
_ZERO = Fraction(0)
_LARGEST_BUDGET = Fraction(2**14)
_Sums = tuple[int, int, int]
"""Over the losses from one on, infinity included:

    that loss, in steps
    A, in units of 2^-bits
    G, in units of 2^-(bits + _GUARD_BITS)
"""


def _sums(losses: LossRow) -> Iterator[_Sums]:
    """Yield the sums from every loss on, from the greatest down."""
    bits, above = losses.bits + _GUARD_BITS, losses.side is BoundSide.ABOVE
    with precision(bits + 32):
        factor = enclosure_of(losses.step.factor(-1) * arb(2) ** bits)
    ratio = factor.lower.__floor__() if above else factor.upper.__ceil__()
    up = 0 if above else (1 << bits) - 1
    mass, other = losses.infinite, 0
    place = losses.row.start + losses.atoms
    for p, q in losses.falling():
        place -= 1
        mass += p
        other = (q << _GUARD_BITS) + ((other * ratio + up) >> bits)
        yield place, mass, other


def least_epsilon(losses: LossRow, delta: Fraction) -> Fraction | None:
    """Bound the least ε >= 0 with H(e^ε) <= δ, from the side of the losses; None for infinity.

    From above, H is at most δ at the ε returned; from below, it is at least δ at all lesser ε.
    """
    step, aim = losses.step, delta * (1 << losses.bits)
    if losses.infinite > aim:
        return None
    most = (aim * (1 << _GUARD_BITS)).__floor__()
    found: _Sums | None = None
    bottom: int | None = None
    near: list[_Sums] = []
    for sums in _sums(losses):
        place, mass, other = sums
        # At its least loss, H = A - G.
        near = [*near[-1:], sums]
        if place < 0 or (mass << _GUARD_BITS) - other > most:
            bottom = place
            break
        found = sums

    def solved(sums: _Sums) -> Enclosure | None:
        """Where A - e^(ε - ℓ₀) G is δ; None if it is less everywhere."""
        at, mass, other = sums
        rest = Fraction(other, 1 << _GUARD_BITS)
        share = (mass - aim) / rest if rest else _ZERO
        return enclosure_of(step.loss(at) + to_ball(share).log()) if share > 0 else None

    with precision(losses.bits + 64):
        if losses.side is BoundSide.BELOW:
            places = [each.lower for each in map(solved, near) if each is not None]
            return max([_ZERO, *places])
        if found is None:
            # H is at most δ from the greatest loss on, and nothing more is known where that is < 0.
            return _ZERO
        # Without any G there, A is at most δ: nothing above the next loss matters.
        where = solved(found)
        least = _ZERO if bottom is None else enclosure_of(step.loss(bottom)).upper
        if where is None:
            return max(least, _ZERO)
        return max(min(max(where.upper, least), enclosure_of(step.loss(found[0])).upper), _ZERO)


def deltas(losses: LossRow, budgets: Sequence[Fraction]) -> list[Fraction]:
    """Bound H(e^ε) at every ε >= 0, from the side of the losses."""
    unit = Fraction(1, 1 << losses.bits)
    order = sorted(range(len(budgets)), key=lambda k: budgets[k], reverse=True)
    found = [losses.infinite * unit] * len(budgets)
    with precision(losses.bits + 64):
        size = losses.step.loss(1)
        places = [to_ball(budgets[k]) / size for k in order]
    after = (0, losses.infinite, 0)
    waiting = 0
    for sums in _sums(losses):
        place, _, _ = sums
        while waiting < len(order) and not places[waiting] < place:
            budget = budgets[order[waiting]]
            # Where balls leave open whether this loss counts, the greater sum is the right one.
            told = losses.side is BoundSide.ABOVE and places[waiting] > place
            found[order[waiting]] = max(
                _value(each, losses, budget) for each in ((after,) if told else (after, sums))
            )
            waiting += 1
        if waiting == len(order):
            break
        after = sums
    for k in order[waiting:]:
        found[k] = _value(after, losses, budgets[k])
    return found


def _value(sums: _Sums, losses: LossRow, budget: Fraction) -> Fraction:
    """Bound A - e^(ε - ℓ₀) G: H(e^ε) if the sums are over all losses above ε, else less."""
    place, mass, other = sums
    with precision(losses.bits + 64):
        power = (to_ball(budget) - losses.step.loss(place)).exp()
        rest = to_ball(Fraction(other, 1 << (losses.bits + _GUARD_BITS)))
        value = enclosure_of(to_ball(Fraction(mass, 1 << losses.bits)) - power * rest)
    return value.upper if losses.side is BoundSide.ABOVE else max(value.lower, _ZERO)


def deltas_of(profile: BallProfile, budgets: Sequence[Fraction]) -> list[tuple[Fraction, Fraction]]:
    """Enclose H(e^ε) at every ε >= 0, of one profile, at the precision of the enclosing block."""
    found = []
    for budget in budgets:
        alpha = to_ball(budget).exp()
        point = profile.at(alpha)
        lower, upper = to_enclosure(point.first - alpha * point.second), to_enclosure(point.bound)
        low = _ZERO if isinstance(lower, NotEnclosed) else max(lower.lower, _ZERO)
        high = Fraction(1) if isinstance(upper, NotEnclosed) else min(upper.upper, Fraction(1))
        found.append((low, high))
    return found


def epsilon_of(
    profile: BallProfile, delta: Fraction, width: Fraction
) -> list[tuple[Fraction | None, Fraction | None]]:
    """Enclose the least ε >= 0 with H(e^ε) <= δ, of one profile, by bisection.

    Args:
        profile: At the precision of the enclosing block.
        width: 2^-16 of it is how far it goes.
    """
    most = Fraction(1)
    while deltas_of(profile, [most])[0][1] > delta:
        if most > _LARGEST_BUDGET:
            return [(_below(profile, delta, most, width), None)]
        most *= 2
    low, high = _ZERO, most
    while high - low > width / 2**16:
        middle = (low + high) / 2
        if deltas_of(profile, [middle])[0][1] <= delta:
            high = middle
        else:
            low = middle
    return [(_below(profile, delta, high, width), high)]


def _below(
    profile: BallProfile, delta: Fraction, most: Fraction, width: Fraction
) -> Fraction | None:
    """An ε at which H is surely above δ, or 0; None if H is so for all, as its limit is."""
    if profile.ends.infinite > to_ball(delta):
        return None
    low, high = _ZERO, most
    while high - low > width / 2**16:
        middle = (low + high) / 2
        if deltas_of(profile, [middle])[0][0] > delta:
            low = middle
        else:
            high = middle
    return low
