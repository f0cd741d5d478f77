"""Every inequality of a claim, each function of ε decided once.

for each divergence G of each pair (`divergences`, `patterns`):
    f := δ - G without its denominators   -- seen before -------->  next divergence
        f >= 0 on the whole interval  ---------------------------->  next divergence
        f < 0 somewhere  -- δ exact, or f < 0 with δ from above -->  violated: stop
        |                   (or go on, if every violation is asked for)
        +-- δ known by brackets: narrower brackets, until `LAST_BITS`: open, "tight-delta"
        no sign found: open, with the reason

It is no search over ε or precisions: `exact.signs` knows all ε at once.

Ranges of ε that violate the claim have ends that hold for the true δ. A δ that is known by brackets
only gives two sets of ranges: with the bracket's upper end those that are violated for certain,
with its lower end those that may be. Brackets are narrowed until the two correspond to each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import assert_never

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.data_classes import dataclass, field
from dipapprox.exact.signs.nonnegative import Negative, NegativeRange, Nonnegative, Undecided
from dipapprox.exact.signs.normal_form import NormalForm
from dipapprox.exponentials import ExponentialPolynomial
from dipapprox.pairs.selections import Orbit
from dipapprox.privacy.decisions.decision import Cause, Open
from dipapprox.privacy.decisions.delta import LAST_BITS
from dipapprox.privacy.decisions.divergences import Count, Divergence, single_divergences
from dipapprox.privacy.decisions.patterns import PatternDivergences
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.decisions.signs import Answer, Signs, cause_of, sign_key

_MOST_OPEN = 100  # undecided inequalities that are listed; more are only counted


@dataclass(frozen=True, slots=True)
class Violated:
    """An inequality that certainly fails."""

    divergence: Divergence
    # δ - G times positive factors; of a δ known by brackets with the upper end: where it is
    # negative the claim is violated.
    slack: ExponentialPolynomial
    eps: Fraction


@dataclass(slots=True)
class DecisionSearch:
    """One run; the fields after `signs` are valid whenever it ends."""

    question: DecisionQuestion
    signs: Signs
    violation: Violated | None = None
    decided: int = 0  # distinct functions whose sign is known
    # If every violation is asked for: where the claim is violated.
    violated_on: list[NegativeRange] = field(default_factory=list)
    unlocated: int = 0  # number of violated divergences whose ranges are not known
    undecided: int = 0
    cause: Cause | None = None
    open: list[Open] = field(default_factory=list)
    _met: set[NormalForm | None] = field(default_factory=set)

    def run(
        self, patterns: PatternDivergences, pairs: Iterable[Orbit], count: Count | None = None
    ) -> None:
        """Decide what settles the claim until all is done or something certainly violates it.

        For δ = 0 that are the divergences of single outputs, else of all sets that are the worst
        at some ε. Pairs may be names that stand for some; `count` grows by what is looked at.
        """
        count = count or Count()
        if self.question.delta.is_zero:
            functions, limits = patterns.functions, patterns.limits
            divergences = single_divergences(functions, pairs, count, limits)
        else:
            divergences = patterns.divergences(pairs, count)
        for divergence in divergences:
            self._decide(divergence)
            if self.violation is not None and not self.question.violations:
                return

    def _decide(self, divergence: Divergence) -> None:
        for low, high in self.question.delta.brackets():
            slack = self.signs.numerator(low - divergence.function)
            key = sign_key(slack)
            if key in self._met:
                return
            found = self.signs.is_nonnegative(slack)
            # Equal signs for δ's lower end are equal answers only if that end is δ, or suffices.
            if low == high or isinstance(found, Nonnegative):
                self._met.add(key)
            if not isinstance(found, Negative) or low == high:
                break
            slack = self.signs.numerator(high - divergence.function)
            found = self.signs.is_nonnegative(slack)
            if not isinstance(found, Nonnegative):  # for the larger δ only
                break
        else:
            found = Undecided(
                f"tight-delta: the difference exceeds δ by less than 2^-{LAST_BITS}, or not at all"
            )
        self._record(divergence, slack, found)

    def _record(self, divergence: Divergence, slack: ExponentialPolynomial, found: Answer) -> None:
        match found:
            case Nonnegative():
                self.decided += 1
            case Negative(eps):
                self.decided += 1
                if self.violation is None:
                    self.violation = Violated(divergence, slack, eps)
                if self.question.violations:
                    # Until they are known: a limit may be reached here.
                    self.unlocated += 1
                    ranges = violated_ranges(divergence, self.question, self.signs)
                    self.violated_on += ranges or ()
                    self.unlocated -= ranges is not None
            case Undecided(reason):
                self.undecided += 1
                self.cause = self.cause or cause_of(reason, Cause.PRECISION_BUDGET)
                if len(self.open) < _MOST_OPEN:
                    self.open.append(Open(divergence.pair, divergence.outputs, reason))
            case _:
                assert_never(found)


def violated_ranges(
    divergence: Divergence, question: DecisionQuestion, signs: Signs
) -> tuple[NegativeRange, ...] | None:
    """Return where a divergence exceeds δ, ends to about a width; None if brackets do not tell."""
    width = question.width
    found: tuple[NegativeRange, ...] | None = None
    for low, high in question.delta.brackets():
        certain = signs.negative(signs.numerator(high - divergence.function), width)
        if low == high:
            return certain
        possible = signs.negative(signs.numerator(low - divergence.function), width)
        found = _joined(certain, possible)
        if found is not None and all(_is_narrow(each, 4 * width) for each in found):
            return found
    return found


def _joined(
    certain: Sequence[NegativeRange], possible: Sequence[NegativeRange]
) -> tuple[NegativeRange, ...] | None:
    """Enclose the ends that lie between those of inner and outer ranges, one by one."""
    if len(certain) != len(possible):
        return None
    joined = []
    for inner, outer in zip(certain, possible, strict=True):
        if (inner.upper is None) != (outer.upper is None):
            return None
        upper = None
        if inner.upper is not None and outer.upper is not None:
            if inner.upper.lower > outer.upper.upper:
                return None
            upper = Enclosure(inner.upper.lower, outer.upper.upper)
        if outer.lower.lower > inner.lower.upper:
            return None
        if (inner.lower_included, inner.upper_included) != (
            outer.lower_included,
            outer.upper_included,
        ):
            return None
        lower = Enclosure(outer.lower.lower, inner.lower.upper)
        joined.append(NegativeRange(lower, upper, inner.lower_included, inner.upper_included))
    return tuple(joined)


def _is_narrow(each: NegativeRange, width: Fraction) -> bool:
    return each.lower.width <= width and (each.upper is None or each.upper.width <= width)
