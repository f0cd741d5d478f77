"""Signs of exponential ratios on the interval of a question: where they are >= 0, < 0, and change.

Ratios are cleared of their denominators first, by factors whose sign on the interval is certain.
Also: do a claimed δ and the random choices of a program make sense there?
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure, simplest
from dipapprox.data_classes import Record, field
from dipapprox.errors import LimitReached, UserError
from dipapprox.exact.choices.validity import check_choices
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import (
    Negative,
    NegativeRange,
    Nonnegative,
    Undecided,
    is_nonnegative,
    negative_set,
    positive_on,
)
from dipapprox.exact.signs.normal_form import NormalForm, normal_form
from dipapprox.exact.signs.values import sign_at
from dipapprox.exact.signs.zeros import Zero, zeros
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.formula import mentions_epsilon
from dipapprox.privacy.decisions.decision import Cause
from dipapprox.privacy.decisions.delta import Delta
from dipapprox.semantics.state import FinalStates

Answer = Nonnegative | Negative | Undecided

_BEGINNINGS = {
    "box-budget": Cause.PRECISION_BUDGET,
    "time limit": Cause.TIME_LIMIT,
    "memory limit": Cause.MEMORY_LIMIT,
    "digit limit": Cause.DEGREE_BUDGET,
    "path limit": Cause.PATH_BUDGET,
    "piece limit": Cause.INTEGRATION_BUDGET,
    **{cause.value: cause for cause in Cause},
}
"""What reasons begin with."""

_OWN = ("degree-budget", "box-budget", "precision-budget", "digit limit")
"""What one function may use up without ending the run."""


def cause_of(reason: str, otherwise: Cause) -> Cause:
    """Return the cause that the reason of a limit or an obstacle stands for."""
    found = (cause for start, cause in _BEGINNINGS.items() if reason.startswith(start))
    return next(found, otherwise)


def sign_key(function: ExponentialPolynomial) -> NormalForm | None:
    """Return a function up to a positive c ε^n e^{qε}, in integers, which hash quickly.

    Functions with equal keys have equal signs; None is the zero function's.
    """
    return normal_form(function) if function else None


class SignChanges(Record):
    """The sign of a function of ε on an interval: before its first change, and where it changes."""

    positive: bool
    changes: tuple[Zero, ...]


class Signs(Record, frozen=False):
    interval: EpsilonInterval
    _denominators: dict[ExponentialPolynomial, int] = field(default_factory=dict)
    _point: Fraction = Fraction(0)  # inside: `__post_init__`

    def __post_init__(self) -> None:
        self._point = self.interval.lower
        if not self.interval.is_point:
            self._point = simplest(self.interval.lower, self.interval.upper, inside=True)

    def numerator(self, ratio: ExponentialRatio) -> ExponentialPolynomial:
        """Multiply a ratio by its denominator, so that its sign stays where it is defined."""
        function = ratio.numerator
        for factor, exponent in ratio.denominator:
            sign = self.sign_of(factor) if exponent % 2 else 1
            if not sign:
                function = function * factor
            elif sign < 0:
                function = -function
        return function

    def sign_of(self, factor: ExponentialPolynomial) -> int:
        """Return the sign of a function on the whole interval; 0 if it has a zero there."""
        if factor not in self._denominators:
            sign = sign_at(factor, self._point)
            same = factor if sign > 0 else -factor
            certain = positive_on(same, self.interval)
            self._denominators[factor] = sign if certain else 0
        return self._denominators[factor]

    def is_nonnegative(self, function: ExponentialPolynomial) -> Answer:
        found = is_nonnegative(function, self.interval)
        if isinstance(found, Undecided) and not found.reason.startswith(_OWN):
            raise LimitReached(found.reason)
        return found

    def negative(
        self, function: ExponentialPolynomial, width: Fraction
    ) -> tuple[NegativeRange, ...]:
        """Return where a function is negative, ends known to `width` or exactly."""
        if not self.interval.is_point:
            return negative_set(function, self.interval, width)
        if sign_at(function, self._point) >= 0:
            return ()
        point = Enclosure.exact(self._point)
        return (NegativeRange(point, point, lower_included=True, upper_included=True),)

    def changes(self, function: ExponentialPolynomial) -> SignChanges:
        chart = zeros(function, self.interval)
        places = tuple(zero for zero in chart.zeros if zero.changes_sign)
        return SignChanges(chart.signs[0] > 0, places)


def merged(ranges: Iterable[NegativeRange]) -> tuple[NegativeRange, ...]:
    """Return the union of ranges, ascending.

    Ranges are joined where they overlap for certain. Where they may overlap or touch, as far as
    their ends are known, they are kept apart.
    """
    result: list[NegativeRange] = []
    for each in sorted(ranges, key=lambda r: (r.lower.upper, r.lower.lower)):
        last = result[-1] if result else None
        if last is None or (last.upper is not None and each.lower.upper >= last.upper.lower):
            result.append(each)
            continue
        lower = Enclosure(min(last.lower.lower, each.lower.lower), last.lower.upper)
        # An included end is the interval's: no range of the others goes beyond it.
        result[-1] = NegativeRange(
            lower,
            _later(last.upper, each.upper),
            last.lower_included or each.lower_included,
            last.upper_included or each.upper_included,
        )
    return tuple(result)


def _later(first: Enclosure | None, second: Enclosure | None) -> Enclosure | None:
    """Enclose the greater of two ends; None is infinity."""
    if first is None or second is None:
        return None
    return Enclosure(max(first.lower, second.lower), max(first.upper, second.upper))


def check_delta(delta: Delta, signs: Signs) -> None:
    """Make sure that a δ that varies with ε is defined and >= 0 on the interval: a `UserError` if
    it is not, `LimitReached` if that cannot be told."""
    if not mentions_epsilon(delta.formula):
        return
    for low, high in delta.brackets():
        if not all(signs.sign_of(factor) for factor, _ in low.denominator):
            raise UserError("delta divides by 0 for some eps of the interval")
        if isinstance(signs.is_nonnegative(signs.numerator(low)), Nonnegative):
            return
        found = signs.is_nonnegative(signs.numerator(high))
        match found:
            case Negative(eps):
                raise UserError(f"delta must be >= 0, but '{delta.text}' is negative at {eps}")
            case Undecided(reason):
                raise LimitReached(reason)
            case Nonnegative():
                pass
            case _:
                assert_never(found)
    raise LimitReached(f"tight-delta: '{delta.text}' is about 0 somewhere, or below")


def check_program(states: FinalStates, interval: EpsilonInterval) -> None:
    """Make sure that all choices of a program are probability distributions on the interval: a
    `QuestionRefused` if one is none, `LimitReached` if that cannot be told."""
    hint = "; ask about fewer eps with --interval, for example 0..1"
    check_choices(states.laws, interval, hint)
