"""Guarantees of programs with real outputs, all pairs: from what they differ by, in closed form.

Rényi divergences are those of moments of what is published. Shifted noise has closed forms,
whatever the order and the shift (`shifted_noise`). Otherwise from above a divergence of an order is
known where noise is plain, or where a coupling bounds all losses; else only from below: densities
in tails are not compared.

The least eps_prv where all pairs differ by shifted noise is the largest that one of them needs,
but for those that others cover (see `shifted_noise`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from dipapprox.arithmetic.enclosure import NotEnclosed, Side
from dipapprox.arithmetic.extended import CLOSED_FORM, EXACTLY, INFINITE, Extended
from dipapprox.arithmetic.precision import exponential
from dipapprox.composition.shifted_noise import ShiftedNoise
from dipapprox.data_classes import replace
from dipapprox.errors import LimitReached
from dipapprox.numerics.powers import logarithm, power
from dipapprox.pairs.published.divergences import Terms
from dipapprox.pairs.published.together import COUPLING, PublishedPairs, shift_of
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.details import POSSIBLE, PairDetails, PairsBounds
from dipapprox.privacy.profiles.curve import ANYTHING, LEAST, least_eps_prv
from dipapprox.privacy.profiles.renyi import divergence_of

_BITS = 64
_MOMENTS = "enclosures of moments"
_NO_BOUND = "no bound of the quotient of densities is known"


def largest_published_divergence(pairs: PublishedPairs, order: Fraction) -> PairsBounds:
    """Bound the largest Rényi divergence of a finite order >= 1 over all pairs.

    Pairs come in the order of what couplings bound their divergences by: where that is no more than
    what a pair before is known to have, no more are looked at. A pair whose densities are out of
    reach, or a limit of the run, leaves the bounds of couplings.

    Args:
        order: At least 1; 1 is the Kullback-Leibler divergence.
    """
    told: Extended | None = None
    attaining: Pair | None = None
    limit: str | None = None
    known = [
        (coupled_divergence(pairs, pair, order), terms, pair) for terms, pair in pairs.classes()
    ]
    for most, terms, pair in sorted(known, key=lambda each: (each[0] is not None, -(each[0] or 0))):
        if told is not None and told.lower is not None and most is not None and most <= told.lower:
            break
        try:
            own = (
                terms if isinstance(terms, NotEnclosed) else _divergence(pairs, terms, pair, order)
            )
        except LimitReached as reached:
            if most is None:
                raise
            own = NotEnclosed(reached.reason)
        if not isinstance(own, Extended):
            limit, own = limit or own.reason, Extended(Fraction(0), None)
        elif own.upper is None and not own.infinite:
            limit = limit or _NO_BOUND
        own = own.meet(Extended.at_most(most, COUPLING), f"D_{order} of a pair")
        if own.lower is None:
            return PairsBounds(own, pair, _BITS)
        if own.lower and (told is None or told.lower is None or own.lower > told.lower):
            attaining = pair
        told = own if told is None else told.greater(own)
    told = told or Extended(Fraction(0), Fraction(0), CLOSED_FORM, CLOSED_FORM)
    if told.most_by == COUPLING:
        pairs.divergences.note(COUPLING)
    return PairsBounds(told, attaining, _BITS, limit=limit)


def coupled_divergence(pairs: PublishedPairs, pair: Pair, order: Fraction) -> Fraction | None:
    """Bound the divergence of a pair by couplings; None if none is known.

    Let the ratio r of the densities of P and Q lie between m and M. Its mean for Q is 1, and r^a,
    for a = 1 r ln r, is convex; so its mean is at most that of the chord from m to M (Edmundson,
    Madansky): ((M - 1) m^a + (1 - m) M^a) / (M - m).
    """
    budget, back = pairs.budget(pair), pairs.budget((pair[1], pair[0]))
    if not budget:
        return budget
    least = Fraction(0) if back is None else exponential(-back, _BITS).lower
    greatest = exponential(budget, _BITS).upper

    def convex(ratio: Fraction) -> Fraction | None:
        if not ratio:
            return ratio
        if order == 1:
            return ratio * logarithm(ratio, _BITS).upper
        found = power(ratio, order, _BITS)
        return None if isinstance(found, NotEnclosed) else found.upper

    low, high = convex(least), convex(greatest)
    if low is None or high is None:
        return budget
    mean = ((greatest - 1) * low + (1 - least) * high) / (greatest - least)
    return min(budget, divergence_of(mean, order, _BITS)[1])


def _divergence(
    pairs: PublishedPairs, terms: Terms, pair: Pair, order: Fraction
) -> Extended | NotEnclosed:
    """Bound the divergence of pairs that look alike."""
    shift = shift_of(terms)
    if shift is not None:
        return Extended.of(shift.renyi(order, _BITS), CLOSED_FORM)
    found = pairs.divergences.moment(terms, order, pairs.budget(pair))
    if isinstance(found, NotEnclosed):
        return found
    if found.infinite:
        return Extended(None, None, _MOMENTS)
    least = divergence_of(found.lower, order, _BITS)[0]
    most = None if found.upper is None else divergence_of(found.upper, order, _BITS)[1]
    return Extended(least, most, _MOMENTS, _MOMENTS)


def least_published(
    pairs: PublishedPairs,
    details: PairDetails,
    delta: Fraction,
    width: Fraction,
    *,
    in_closed_form: bool,
) -> PairsBounds:
    """Bound the least eps_prv >= 0 at which the largest delta is at most `delta`.

    Budgets of couplings come first: they bound it from above, whatever ends the search.

    Args:
        delta: In [0, 1].
        width: Wanted of the bounds, > 0.
        in_closed_form: Whether closed forms of shifted noise may be used.

    Raises:
        LimitReached: If there are too many pairs, or a limit is reached before anything is known.
    """
    shifts = pairs.shifts() if in_closed_form else None
    if shifts is not None:
        pairs.divergences.note(CLOSED_FORM)
        return least_of_shifts(shifts, delta, width)
    budgets = {
        pair: pairs.budget(pair)
        for terms, pair in pairs.classes()
        if isinstance(terms, NotEnclosed) or any(s.first != s.second for s, _ in terms)
    }
    finite = [each for each in budgets.values() if each is not None]
    known = ANYTHING
    if finite and len(finite) == len(budgets):
        known = Extended.at_most(max(finite), COUPLING)
    try:
        found = None if delta else _least_pure(pairs, details, pairs.ladder[0], budgets)
        if found is None:
            with pairs.asking(delta):
                found = least_eps_prv(pairs, details, delta, width, known)
    except LimitReached as reached:
        if not budgets:
            raise
        pairs.ended = reached.reason
        found = PairsBounds(known, None, pairs.ladder[0], ())
    found = replace(found, told=found.told.meet(known, LEAST))
    if found.told.most_by == COUPLING:
        pairs.divergences.note(COUPLING)
    return found


def _least_pure(
    pairs: PublishedPairs, details: PairDetails, bits: int, budgets: Mapping[Pair, Fraction | None]
) -> PairsBounds | None:
    """Bound the least eps_prv for δ = 0 where closed forms compare densities.

    Pairs that no eps_prv is enough for come first. Those of which nothing is left at what the pairs
    before need are not looked at any further; the largest budgets are before others.

    Args:
        budgets: Of the pairs that differ, by couplings.

    Returns:
        None if some pair is not compared, or needs no finite eps_prv, as far as is told.
    """
    for pair, budget in budgets.items():
        if budget is None and pairs.is_unbounded(pair):
            return PairsBounds(Extended(None, None, POSSIBLE), pair, bits, ())
    lower = upper = Fraction(1)
    attaining: Pair | None = None
    for pair in sorted(budgets, key=lambda each: -(budgets[each] or _LARGEST_SHOWN)):
        nothing = Fraction(0)
        if attaining is not None and pairs.side(pair, upper, nothing, bits) is Side.BELOW:
            continue
        if not pairs.are_compared(pair):
            return None
        solved = details.least_factor(pair, nothing, bits)
        if isinstance(solved, NotEnclosed) or solved.lower is None or solved.upper is None:
            return None
        if attaining is None or solved.lower > lower:
            lower, attaining = solved.lower, pair
        upper = max(upper, solved.upper)
    ends = [logarithm(end, bits + _BITS) for end in (lower, upper)]
    found = Extended(max(ends[0].lower, Fraction(0)), ends[1].upper, EXACTLY, EXACTLY)
    outputs = None if attaining is not None and lower > 1 else ()
    return PairsBounds(found, attaining, bits, outputs, lower)


_LARGEST_SHOWN = 10_000  # of sets that demand more, probabilities are too small to be shown
_FACTOR_BITS = 80


def least_of_shifts(
    shifts: Sequence[tuple[ShiftedNoise, Pair]], delta: Fraction, width: Fraction
) -> PairsBounds:
    """Bound the least eps_prv >= 0 at which the largest delta is at most `delta`."""
    bits = (width.denominator // width.numerator).bit_length() + 1
    lower = upper = Fraction(0)
    attaining: Pair | None = None
    largest: list[tuple[ShiftedNoise, Pair]] = []
    for shift, pair in shifts:
        if not any(known.covers(shift) for known, _ in largest):
            largest = [each for each in largest if not shift.covers(each[0])] + [(shift, pair)]
    for shift, pair in largest:
        found = shift.least_budget(delta, bits)
        if found is None:
            return PairsBounds(INFINITE, pair, bits, ())
        if found.lower > lower:
            lower, attaining = found.lower, pair
        upper = max(upper, found.upper)
    factor = None
    if lower <= _LARGEST_SHOWN:
        # From below: the set of what is likelier is not empty then.
        factor = exponential(lower, _FACTOR_BITS).lower
    outputs = () if attaining is None or factor is None else None
    least = Extended(lower, upper, CLOSED_FORM, CLOSED_FORM)
    return PairsBounds(least, attaining, bits, outputs, factor)
