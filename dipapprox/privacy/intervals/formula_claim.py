"""Claims that vary with eps: (eps_prv, delta) as formulas, evaluated rigorously.

Over one eps a formula gives an enclosure of the claimed number, over an interval a jet. What
is no claim anywhere in the interval is the user's error: eps_prv below 0, delta outside [0, 1], a
formula without a value. Where intervals cannot tell, an eps_prv or delta that touches 0 is let
through, and `check` says so. Below 0 no claim is true of two inputs with one distribution: a
difference of 0 proves nothing there. All other pairs are compared with enclosures of the same
formulas, and what is proved of them stays right. `check` is no `search`: it has no bounds to
improve, and all parts have to be looked at, in any order.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.decimals import short
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass
from dipapprox.errors import SourceError, UserError
from dipapprox.language.formula import Formula
from dipapprox.numerics.formula_values import Jet, Undefined, eps_jet, evaluate
from dipapprox.source import Diagnostic

_DEEPEST = 24
_MOST_PIECES = 4_000
"""Bisections of the interval in the search for epsilons that make no claim."""

BITS = 128
"""Relative precision of formulas over intervals."""


@dataclass(frozen=True, slots=True)
class FormulaClaim:
    """For every eps in question: the program run with eps is (eps_prv, delta)-private.

    Attributes:
        eps_prv: A formula in eps and delta.
        delta: A formula in eps.
        eps_prv_text: The eps_prv as the user wrote it.
        delta_text: The same for delta.
    """

    eps_prv: Formula
    delta: Formula
    eps_prv_text: str
    delta_text: str

    def at(self, eps: Fraction, bits: int) -> tuple[Enclosure, Enclosure]:
        """Enclose eps_prv and delta at one eps; exact where the formulas are rational.

        Raises:
            SourceError: If a formula has no value there.
        """
        try:
            eps_prv, delta = self._jets(eps, eps, bits)
        except Undefined as undefined:
            raise _undefined(undefined, eps) from None
        return eps_prv.value, delta.value

    def over(self, lower: Fraction, upper: Fraction) -> tuple[Jet, Jet]:
        """Enclose eps_prv and delta, with derivatives, over an interval of epsilons.

        Raises:
            Undefined: If the interval is too wide, or a formula has no value in it.
        """
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
