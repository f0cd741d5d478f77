"""What the questions ask of single pairs of a program with real outputs: see `PairDetails`.

The least factor of a pair is found by Newton's method. The divergence D(E), the supremum over sets
S of p(S) - E q(S), is convex and falls. Whatever S is, a factor below (p(S) - delta) / q(S)
is too small; the set that attains D at a place near the least factor demands nearly that. Where to
look is guessed in doubles, from log D as a function of log E.

Values. The values of real outputs in a set that is too likely, and how they depend on one another.

In: the set of an outcome, given by intervals of sums of coordinates. Out: the values of all output
cells, such that they describe this set:

    y[1] = x + 1, y[2] = x            y[2] = y[1] - 1
    y[1] = x, y[2] = x + z, z >= 3    y[2] with -y[1] + y[2] >= 3
    y[1] = x, y[2] = z, x + 2 z >= 3  y[2] with y[1] + 2 y[2] >= 3

Without the first an outcome that only one input has would look like one that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import exp

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed, Side, if_enclosed, sure
from dipapprox.arithmetic.extended import EXACTLY
from dipapprox.arithmetic.precision import exponential
from dipapprox.digits import exact_text
from dipapprox.errors import BrokenInvariant, LimitReached
from dipapprox.events.event import EVERYWHERE
from dipapprox.events.reduce import primitive
from dipapprox.linear.form import FormSpan, LinearForm
from dipapprox.numerics.powers import logarithm
from dipapprox.pairs.divergence import Attempt, ExactSide, Factor
from dipapprox.pairs.maximum import FACTOR_BITS
from dipapprox.pairs.published.divergences import OutcomeExcess, PublishedDivergences
from dipapprox.pairs.published.processed import COARSE_BITS
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.details import LARGEST_FACTOR, POSSIBLE, ExcessSet, LeastFactor
from dipapprox.privacy.notation import ANY_NUMBER, NumberSet, Published, published_values
from dipapprox.privacy.run import Witness, WitnessRow


def related_values(excess: OutcomeExcess, names: Sequence[str]) -> tuple[Published, ...]:
    """Return values of all output cells that describe a set.

    Args:
        excess: The set; the probabilities of what is returned are those of it.
    """
    values = list(published_values(excess.outcome, excess.where))
    if excess.where is None:
        return tuple(values)
    first = len(excess.outcome.outputs)
    span = FormSpan()
    for place, (real, name) in enumerate(zip(excess.outcome.reals, names, strict=True)):
        if real.is_constant:
            continue
        relation = span.put(real, name)
        if relation is not None and values[first + place] == ANY_NUMBER:
            values[first + place] = NumberSet((EVERYWHERE,), f"= {_text(relation)}")
    alone = [form for form in excess.outcome.reals if len(form.terms) == 1]
    shown = {LinearForm.symbol(k) for form in alone for k in form.samples()}
    said: dict[int, list[str]] = {}
    for coordinates, intervals in excess.where.items():
        if coordinates in shown or intervals == (EVERYWHERE,):
            continue
        form = span.combination(coordinates)
        if form is None:
            raise BrokenInvariant("a coordinate that no output shows")
        # It is said of the last output that it is a combination of.
        last = max(names.index(name) for name in form.inputs())
        scale = 1 / form.coefficient(names[last])
        if len(coordinates.terms) > 1:
            # Of a sum whose ends are short, these stay so: its coefficients become integers.
            scale = primitive(form).terms[0][1] / form.terms[0][1]
        combination = (form - LinearForm.constant_form(form.constant)).scaled(scale)
        known = NumberSet(intervals).mapped(scale, -form.constant * scale)
        said.setdefault(last, []).append(known.text(_text(combination)))
    for last, texts in said.items():
        own = values[first + last]
        assert isinstance(own, NumberSet)
        if own != ANY_NUMBER:
            texts.insert(0, own.text(names[last]))
        values[first + last] = NumberSet(own.intervals, f"with {' and '.join(texts)}")
    return tuple(values)


def _text(form: LinearForm) -> str:
    """Write a form over names: "2 y[1] - y[2] + 1/3"."""
    parts = [(c, name) for name, c in form.terms]
    text = ""
    for factor, name in [*parts, *([(form.constant, "")] if form.constant else [])]:
        size = "" if name and abs(factor) == 1 else exact_text(abs(factor))
        sign = "-" if factor < 0 else "+"
        if text:
            text += f" {sign} "
        elif factor < 0:
            text = "-"
        text += " ".join(part for part in (size, str(name)) if part)
    return text or "0"


_MOST_STEPS = 60
_LARGEST_STEP = 20
_GUESS_BITS = 53
_ACCURATE = 48
_LARGEST = Fraction(2) ** 400
_LARGEST_BUDGET = Fraction(10_000)
_QUICK_STEPS = 10
"""Of Newton's method, if it suits; then a bracket is halved, down to a factor of 2**_NEAR."""

_NEAR = 8
_FARTHER = 15  # times the places that are not decided, to where it is looked beyond them
_NEAR_OPEN = Fraction(1, 2**6)  # of these places: how near to them others are decided, in the end
_LARGEST_OPEN = Fraction(2**24)  # places beyond are not tried where those before are not decided
_NEARLY = 1 - Fraction(1, 2**20)
"""A set that has so much of the largest difference attains it, as far as people see."""


class PublishedDetails:
    """The details of pairs by what they publish; see `PairDetails`.

    Args:
        claimed: δ, where a set that shows more is wanted; None where the largest is.
    """

    def __init__(
        self,
        divergences: PublishedDivergences,
        pairs: PublishedPairs,
        claimed: Fraction | None = None,
    ) -> None:
        self._divergences = divergences
        self._pairs = pairs
        self._claimed = claimed
        self._guesses: dict[tuple[Pair, Fraction], Fraction] = {}
        self._brackets: dict[tuple[Pair, Fraction], tuple[Fraction, Fraction | None]] = {}

    def least_factor(self, pair: Pair, delta: Fraction, bits: int) -> LeastFactor | NotEnclosed:
        terms = self._divergences.terms(pair)
        if isinstance(terms, NotEnclosed):
            return self._bracketed(pair, delta, bits, Fraction(1))
        if not delta and self._pairs.is_unbounded(pair):
            return LeastFactor(None, None, (), POSSIBLE)
        best = Fraction(1)
        probe = self._guesses.get((pair, delta), best)
        slow = any(
            sides.coordinates > 1 or len(marginal.event.samples) > 1
            for sides, _ in terms
            for part in (*sides.first, *sides.second)
            for marginal in part.marginals
        )
        if not delta and (
            (pair, delta) in self._guesses or (slow and self._pairs.are_compared(pair))
        ):
            # Enclosures never tell that nothing is left: more bits are of no use.
            return self._bracketed(pair, delta, bits, probe)
        enough: Fraction | None = None
        for step in range(_MOST_STEPS):
            if best >= LARGEST_FACTOR:
                return LeastFactor(LARGEST_FACTOR, None, None)
            probe = min(probe, LARGEST_FACTOR)
            try:
                excess = self._divergences.excess(pair, Factor(probe, probe), bits)
            except LimitReached:
                if best == 1:
                    raise
                return LeastFactor(best, None, None)  # what is demanded stays demanded
            if isinstance(excess, NotEnclosed) or any(each.where is None for each in excess):
                return self._bracketed(pair, delta, bits, best)
            first = sum((each.first.lower for each in excess), Fraction(0))
            second = sum((each.second.upper for each in excess), Fraction(0))
            if not second:
                if first > delta:
                    return LeastFactor(None, None, None)
                if probe > best:
                    probe = best  # nothing is more likely by that much
                    continue
                break
            demanded = _shortened((first - delta) / second, bits)
            best = max(best, demanded)
            if abs(demanded - probe) <= probe / 2 ** (bits // 2 + 8) or demanded <= 1 == probe:
                break
            if first - probe * second <= delta:
                enough = probe
            guess = _extrapolated(probe, first - probe * second, second, delta, bits)
            if step >= _QUICK_STEPS:
                guess = _halfway(best, enough) or guess
            probe = max(best, guess)
        self._guesses[pair, delta] = best
        return self._bracketed(pair, delta, bits, best)

    def _bracketed(
        self, pair: Pair, delta: Fraction, bits: int, least: Fraction
    ) -> LeastFactor | NotEnclosed:
        """Bound the least factor by the divergence alone, where sets are not described.

        It falls with the factor: what is too much at one place is too much before it. Of δ = 0 the
        least factor is mostly what a set demands, or where a coupling knows that nothing is left.
        """
        known = None if delta else self._pure(pair, bits)
        low, high = self._brackets.get((pair, delta), (least, known))
        step, near = Fraction(2), Fraction(1, 2 ** min(bits, _ACCURATE))
        guesses = [low * (1 + near)] if low > 1 else []
        guesses += [high * (1 - near)] if high is not None else []
        first = last = Fraction(0)  # of the places that are not decided, if there are some
        reason: NotEnclosed | None = None
        for _ in range(_MOST_STEPS):
            if high is None and low > _LARGEST and not guesses and not last:
                break
            width = max(last - first, last * near)
            if not last:
                if high is not None and high - low <= low * near:
                    break
                place = low * step if high is None else (low + high) / 2
                guess = guesses.pop() if guesses else place
                if low < guess and (high is None or guess < high):
                    place = guess
            elif high is None and last <= max(_LARGEST_OPEN, 2 * low):
                place = last + _FARTHER * width
            elif high is not None and high - last > width * _NEAR_OPEN:
                place = min((last + high) / 2, last + _FARTHER * width)
            elif first - low > width * _NEAR_OPEN:
                place = max((low + first) / 2, first - _FARTHER * width)
            else:
                break
            try:
                found = self._pairs.side(pair, place, delta, bits)
            except LimitReached:
                if low == 1 and high is None:
                    raise
                break
            if found is Side.BELOW:
                high = place
            elif found is Side.ABOVE:
                low, step = place, step * step if high is None else step
            else:
                # Beyond, and before, more may be known than here.
                reason = found if isinstance(found, NotEnclosed) else reason
                first, last = min(first or place, place), max(last, place)
            if low >= last or (high is not None and high <= first):
                first = last = Fraction(0)
        if low == 1 and high is None and reason is not None:
            return reason
        self._brackets[pair, delta] = low, high
        return LeastFactor(low, high, None if low != 1 else (), *(() if delta else (EXACTLY,)))

    def _pure(self, pair: Pair, bits: int) -> Fraction | None:
        """Return a factor at which nothing is left, if a coupling proves one."""
        budget = self._pairs.budget(pair)
        if budget is None or budget > _LARGEST_BUDGET:
            return None
        return exponential(budget, bits).upper

    @if_enclosed
    def excess(self, pair: Pair, factor: Factor, bits: int) -> ExcessSet:
        found = sure(self._exceeding(pair, factor, bits))
        outputs = tuple(map(self._values, found))
        if any(each.where is None for each in found):
            return ExcessSet(Fraction(0), Fraction(0), outputs, None, False)
        first = sum((each.first.lower for each in found), Fraction(0))
        second = sum((each.second.upper for each in found), Fraction(0))
        possible = factor.upper is not None and first - factor.lower * second > 0
        return ExcessSet(first, second, outputs, None, possible)

    def witness(
        self, pair: Pair, factor: Factor, outputs: Sequence[int] | None, bits: int
    ) -> Witness | None:
        """See `PairDetails`. The outputs are always those that exceed."""
        try:
            found = self._exceeding(pair, factor, bits)
        except LimitReached:
            return None  # what is proved stays so without a set that shows it
        if isinstance(found, NotEnclosed) or not found:
            return None
        if any(each.where is None for each in found):
            total = sum((each.value for each in found), Enclosure.exact(0)).intersect(UNIT)
            enough = total.lower * _NEARLY if self._claimed is None else self._claimed
            shown = self._shown(pair, found, factor, bits, enough)
            return shown or Witness(*pair, self._rows(found), total)
        return self._explicit(pair, found, factor)

    def _exceeding(
        self, pair: Pair, factor: Factor, bits: int
    ) -> Sequence[OutcomeExcess] | NotEnclosed:
        """Return the sets that exceed; where they are out of reach, of what tells less."""
        for own in (bits, min(bits, COARSE_BITS)):
            found = self._divergences.excess(pair, factor, own)
            if not isinstance(found, NotEnclosed):
                return found
        return self._pairs.processed.excess(pair, factor)

    def _rows(self, found: Sequence[OutcomeExcess]) -> tuple[WitnessRow, ...]:
        return tuple(WitnessRow(self._values(e), e.first, e.second) for e in found)

    def _explicit(self, pair: Pair, found: Sequence[OutcomeExcess], factor: Factor) -> Witness:
        if factor.upper is None and any(each.second.upper for each in found):
            factor = Factor(factor.lower, factor.lower)
        return Witness.of(pair, self._rows(found), factor)

    def _shown(
        self,
        pair: Pair,
        found: Sequence[OutcomeExcess],
        factor: Factor,
        bits: int,
        enough: Fraction,
    ) -> Witness | None:
        """A witness of sets with masses, if there are some that show more than what is enough."""
        described = []
        for each in found:
            own: OutcomeExcess | None = each
            if each.where is None:
                best = self._claimed is None
                own = self._divergences.explicit(pair, each, factor, bits, best=best)
            if own is None:
                return None
            described.append(own)
        witness = self._explicit(pair, described, factor)
        return witness if witness.delta_enclosure.lower > enough else None

    def describe(self, attempt: Attempt, delta: Fraction | None) -> Witness | None:
        if delta is not None and attempt.proof is not None:
            return self._proved(attempt, attempt.proof)
        return self.witness(attempt.pair, attempt.factor, None, attempt.bits)

    def _proved(self, attempt: Attempt, proof: ExactSide) -> Witness | None:
        """The set of all that is more than growth times as likely, of the outcomes of a proof.

        It attains what these outcomes add to delta, which is positive.
        """
        sides = list(self._pairs.compared(attempt.pair))
        chosen = (sides[number][0] for number in proof.outputs)
        found = [OutcomeExcess(outcome, None, UNIT, UNIT, UNIT) for outcome in chosen]
        bits = max(attempt.bits, FACTOR_BITS)
        shown = self._shown(attempt.pair, found, attempt.factor, bits, Fraction(0))
        delta = Enclosure(Fraction(0), attempt.delta.upper)
        return shown or Witness(*attempt.pair, self._rows(found), delta, proof.argument)

    def _values(self, excess: OutcomeExcess) -> tuple[Published, ...]:
        return related_values(excess, self._divergences.names)


def _shortened(value: Fraction, bits: int) -> Fraction:
    """Round down to a short fraction: what is demanded stays demanded."""
    unit = 2 ** (bits + 16)
    return Fraction(value.numerator * unit // value.denominator, unit)


def _halfway(low: Fraction, high: Fraction | None) -> Fraction | None:
    """Guess a number halfway between the logarithms of two; None if they are near each other."""
    first = _log2(low)
    second = 2 * max(first, 1) if high is None else _log2(high)
    if second - first < _NEAR:
        return None
    return Fraction(2) ** ((first + second) // 2 if high is not None else second)


def _log2(value: Fraction) -> int:
    return value.numerator.bit_length() - value.denominator.bit_length()


def _extrapolated(
    place: Fraction, excess: Fraction, second: Fraction, delta: Fraction, bits: int
) -> Fraction:
    """Guess where the divergence is delta, from its value and its slope -second at a place."""
    linear = _shortened(place + (excess - delta) / second, bits)
    if delta <= 0 or excess <= 0:
        return linear
    # Exact until it is known to be small: quotients of tails are beyond doubles.
    power = excess / (place * second) * logarithm(excess / delta, _GUESS_BITS).lower
    if not abs(power) < _LARGEST_STEP:
        return linear
    return place * Fraction(exp(power))
