"""Claims that vary with eps, and the verdict on an interval. Frozen data, nothing printed.

(eps_prv, delta) are formulas, evaluated rigorously. Over one eps a formula gives an enclosure of
the claimed number, over an interval a jet. What is no claim anywhere in the interval is the user's
error: eps_prv below 0, delta outside [0, 1], a formula without a value. Where intervals cannot
tell, an eps_prv or delta that touches 0 is let through, and `check` says so. Below 0 no claim is
true of two inputs with one distribution: a difference of 0 proves nothing there. All other pairs
are compared with enclosures of the same formulas, and what is proved of them stays right. `check`
is no `search`: it has no bounds to improve, and all parts have to be looked at, in any order.

Minorants. Affine functions below what a claim says over an interval of epsilons.

A function with second derivative <= c is at most width² c⁺ / 8 below its chord; so the chord,
lowered by that, is a minorant.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import ClassVar

from dipapprox.arithmetic.enclosure import Enclosure, rounded_down, rounded_up, short
from dipapprox.data_classes import Record
from dipapprox.errors import SourceError, UserError
from dipapprox.language.formula import Formula
from dipapprox.numerics import intervals
from dipapprox.numerics.formula_values import Jet, Undefined, eps_jet, evaluate
from dipapprox.pairs.divergence import Factor, eps_prv_factor
from dipapprox.privacy.charts import Chart
from dipapprox.privacy.description import Description, End, count
from dipapprox.privacy.notation import ends
from dipapprox.privacy.run import Replayed, Run, RunResult, Witness
from dipapprox.privacy.verdict import SENTENCES, TONES, Answer, Verdict, delta_name
from dipapprox.source import Diagnostic

_DEEPEST = 24
_MOST_PIECES = 4_000  # bisections of the interval in the search for epsilons that make no claim
BITS = 128  # relative precision of formulas over intervals


class FormulaClaim(Record):
    """For every eps in question: the program run with eps is (eps_prv, delta)-private.

    Both are formulas in eps, eps_prv in delta too, and texts as the user wrote them.
    """

    eps_prv: Formula
    delta: Formula
    eps_prv_text: str
    delta_text: str

    def at(self, eps: Fraction, bits: int) -> tuple[Enclosure, Enclosure]:
        """Enclose eps_prv and delta at one eps, exactly where the formulas are rational; a
        `SourceError` if one has no value there."""
        try:
            eps_prv, delta = self._jets(eps, eps, bits)
        except Undefined as undefined:
            raise _undefined(undefined, eps) from None
        return eps_prv.value, delta.value

    def over(self, lower: Fraction, upper: Fraction) -> tuple[Jet, Jet]:
        """Enclose eps_prv and delta, with derivatives, over an interval of epsilons; `Undefined` if
        it is too wide, or a formula has no value in it."""
        return self._jets(lower, upper, BITS)

    def largest_delta(self, lower: Fraction, upper: Fraction) -> Fraction:
        """Bound the largest delta that is claimed between two epsilons: at most 1."""
        try:
            _, delta = self.over(lower, upper)
        except Undefined:  # the interval is too wide
            return Fraction(1)
        return min(max(delta.value.upper, Fraction(0)), Fraction(1))

    def check(self, lower: Fraction, upper: Fraction) -> Fraction | None:
        """Make sure that there is a claim for every eps of an interval.

        Returns:
            An eps near which eps_prv or delta may be below 0; None if it is proved that neither is.

        Raises:
            UserError: If a formula has no value, the eps_prv is negative or delta is outside
                [0, 1] for some eps, or if values cannot be shown to exist.
        """
        pieces = [(lower, upper, 0)]
        done = 0
        doubtful: Fraction | None = None
        for end in (lower, upper):
            self._check_range(end, *self.at(end, BITS))
        while pieces:
            low, high, depth = pieces.pop()
            done += 1
            middle = (low + high) / 2
            last = depth == _DEEPEST or done > _MOST_PIECES
            try:
                eps_prv, delta = self.over(low, high)
            except Undefined as undefined:
                if undefined.certain or last:
                    raise _undefined(undefined, middle) from None
            else:
                is_proved = eps_prv.value.lower >= 0 and delta.value.lower >= 0
                if is_proved and delta.value.upper <= 1:
                    continue
                if last and not is_proved:
                    doubtful = middle
            self._check_range(middle, *self.at(middle, BITS))
            if not last:
                pieces += [(low, middle, depth + 1), (middle, high, depth + 1)]
        return doubtful

    def _check_range(self, eps: Fraction, eps_prv: Enclosure, delta: Enclosure) -> None:
        if eps_prv.upper < 0:
            raise UserError(
                f"eps_prv must be >= 0, but '{self.eps_prv_text}' is {_text(eps_prv)} at "
                f"eps = {eps}"
            )
        if delta.upper < 0 or delta.lower > 1:
            raise UserError(
                f"delta must be in [0, 1], but '{self.delta_text}' is {_text(delta)} at eps = {eps}"
            )

    def _jets(self, lower: Fraction, upper: Fraction, bits: int) -> tuple[Jet, Jet]:
        eps = eps_jet(lower, upper)
        delta = evaluate(self.delta, {"eps": eps}, bits)
        return evaluate(self.eps_prv, {"eps": eps, "delta": delta}, bits), delta


def _undefined(undefined: Undefined, near: Fraction) -> SourceError:
    where = "at" if undefined.certain else "or cannot be told from it, at or near"
    message = f"{undefined.reason}, {where} eps = {near}"
    return SourceError([Diagnostic("value error", message, undefined.span)])


def _text(enclosure: Enclosure) -> str:
    lower, upper = short(enclosure)
    return lower if lower == upper else f"in [{lower}, {upper}]"


_EIGHTH = Fraction(1, 8)
_LARGEST_FACTOR = Fraction(2**900)
"""Any minorant of e^eps_prv will do; this one scales everything and stays within doubles."""


class Minorant(Record):
    """An affine function below another one over an interval, by its values at the ends."""

    at_lower: Fraction
    at_upper: Fraction


def growth_at(eps_prv: Enclosure) -> Factor:
    """Enclose e^eps_prv, for all of an interval."""
    return Factor(
        eps_prv_factor(eps_prv.lower, BITS).lower, eps_prv_factor(eps_prv.upper, BITS).upper
    )


def below(lower: Enclosure, upper: Enclosure, over: Jet, width: Fraction) -> Minorant:
    """Return the lowered chord, or the least value where the function may not be smooth.

    Its values at both ends and between them are known.
    """
    if over.slopes is None:
        return Minorant(over.value.lower, over.value.lower)
    return _lowered(lower.lower, upper.lower, over.slopes[1].upper, width)


def growths_below(
    lower: Factor, upper: Factor, eps_prv: Jet, width: Fraction
) -> Iterator[Minorant]:
    """Yield minorants of e^eps_prv, > 0: a constant, then the lowered chord."""
    whole = growth_at(eps_prv.value)
    least = whole.lower
    if eps_prv.slopes is not None and (
        eps_prv.slopes[0].lower >= 0 or eps_prv.slopes[0].upper <= 0
    ):
        # A monotone eps_prv is least at an end; interval evaluation would lose some of it.
        least = max(least, min(lower.lower, upper.lower))
    least = min(least, _LARGEST_FACTOR)
    yield Minorant(least, least)
    if eps_prv.slopes is None or whole.upper is None:
        return
    # (e^b)'' = e^b (b'^2 + b'')
    bend = intervals.power(eps_prv.slopes[0], 2) + eps_prv.slopes[1]
    curvature = intervals.multiply(Enclosure(whole.lower, whole.upper), bend).upper
    chord = _lowered(lower.lower, upper.lower, curvature, width)
    if all(0 < end <= _LARGEST_FACTOR for end in (chord.at_lower, chord.at_upper)):
        yield chord


def _lowered(lower: Fraction, upper: Fraction, curvature: Fraction, width: Fraction) -> Minorant:
    drop = max(curvature, Fraction(0)) * width**2 * _EIGHTH
    return Minorant(lower - drop, upper - drop)


_MOST_PARTS = 10  # undecided parts of the interval that are shown
_PLACES = 9


class IntervalVerdict(Record, RunResult):
    """The result of one verification for every eps in a closed interval.

    Attributes:
        points: Epsilons at which the claim was judged.
        delta_enclosure: For DP, encloses the largest delta_{u,u'} over pairs and interval; for
            Not_DP, the violating pair's at the eps of the witness. None if nothing is known.
        violation: For Not_DP the verdict at one eps, with its witness.
        remaining: For Unknown the undecided parts of the interval, merged, ascending.
    """

    run: Run
    lower: Fraction
    upper: Fraction
    claim: FormulaClaim
    answer: Answer
    points: int
    delta_enclosure: Enclosure | None
    violation: Verdict | None
    remaining: tuple[tuple[Fraction, Fraction], ...]
    interrupted: bool = False
    replayed: Replayed | None = None

    asked: ClassVar[str] = Verdict.asked

    @property
    def epsilons(self) -> str:
        """The interval as it is written: "1/10..1"."""
        return f"{self.lower}..{self.upper}"

    def to_dict(self) -> dict[str, object]:
        witness = eps = None
        if self.violation is not None:
            eps = str(self.violation.claim.eps)
            witness = self.violation.witness_fields()
        return {
            **self.header(),
            "eps": self.epsilons,
            "eps_prv": self.claim.eps_prv_text,
            "delta": self.claim.delta_text,
            "verdict": self.answer.value,
            **self.extent(),
            "delta_enclosure": ends(self.delta_enclosure),
            "eps_witness": eps,
            "witness": None if witness is None else {"eps": eps, **witness},
            "remaining": [[str(low), str(high)] for low, high in self.remaining],
            "points": self.points,
            **self.footer(),
        }

    @property
    def witness(self) -> Witness | None:
        """For Not_DP the pair that violates the claim at the eps of `violation`."""
        return None if self.violation is None else self.violation.witness

    def why(self) -> tuple[End, ...]:
        if self.violation is not None:
            return self.violation.why()
        of = delta_name(self.answer)
        return self._ends(of, self.delta_enclosure, None, Fraction(1))

    def charts(self) -> tuple[Chart, ...]:
        return () if self.violation is None else self.violation.charts()

    def describe(self) -> Description:
        claimed = f"(ε_prv, δ) = ({self.claim.eps_prv_text}, {self.claim.delta_text})"
        violated = delta = None
        if self.violation is not None:
            violated = f"ε = {self.violation.claim.eps}"
        elif self.delta_enclosure is not None:
            delta = str(self.delta_enclosure)
        outputs = count(self.run.outputs, "output")
        pairs = "all pairs, infinitely many" if self.scope.everywhere else "all pairs"
        if self.pairs is not None:
            pairs = count(self.pairs, "ordered pair")
        everywhere = f"program run at every ε in [{self.lower}, {self.upper}]"
        return self.described(
            f"{self.program}: {SENTENCES[self.answer]}{self.scope.restriction}",
            label=self.answer.value,
            tone=TONES[self.answer],
            asked=(("claim", f"{claimed}, {everywhere}"),),
            found=(
                ("reason", self.reason),
                ("violated at", violated),
                (delta_name(self.answer), delta),
                ("undecided", self._remaining()),
                ("checked", f"{pairs}, {outputs}"),
            ),
            below=() if self.violation is None else (self.violation.describe(),),
            computed=f"{count(self.points, 'value')} of ε",
        )

    def _remaining(self) -> str:
        shown = [
            f"[{rounded_down(low, _PLACES)}, {rounded_up(high, _PLACES)}]"
            for low, high in self.remaining[:_MOST_PARTS]
        ]
        more = len(self.remaining) - _MOST_PARTS
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
