"""Is a choice a probability distribution, and does a loop end, for every ε of an interval?

In: a `ChoiceLaw` with exact weights. Out: None, or an `Objection` with a reason for people.

A weight must be defined (its denominators without zero), >= 0, and all weights of a choice must
add up to 1 as functions. A chain must be absorbed with probability 1: from every state that can be
reached, an absorbing one can be reached. Off the zeros of its transition probabilities that is a
question about one graph. At a zero some edges are missing; by Lindemann's theorem different parts
of a squarefree decomposition have no common zero (`normal_form`). So the edges that may vanish
together are those whose numerators share a factor, and finitely many graphs are left to check.

References:
    DiPC paper, section 2.3 (user distributions) and Theorem 11 (termination is assumed there).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar, assert_never

from dipapprox.arithmetic.enclosure import simplest
from dipapprox.data_classes import Record
from dipapprox.digits import exact_text
from dipapprox.errors import LimitReached, QuestionRefused
from dipapprox.exact.choices.absorption import absorption, possible, reached
from dipapprox.exact.signs.interval import EpsilonInterval
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, Undecided, is_nonnegative
from dipapprox.exact.signs.values import sign_at
from dipapprox.exact.signs.zeros import Zero, in_order, refine, zeros
from dipapprox.exponentials import ExponentialPolynomial, ExponentialRatio
from dipapprox.language.traversal import reaching
from dipapprox.laws.distribution import ChainLaw, ChoiceLaw, FiniteLaw
from dipapprox.limits import check_limits
from dipapprox.semantics.state import Choice
from dipapprox.source import Diagnostic

_NEAR = Fraction(1, 2**10)  # how near a zero the number is that stands for it in reports
Key = TypeVar("Key")


class Objection(Record):
    """Why a law cannot be used, as a phrase; what is not proved is a doubt."""

    reason: str
    proved: bool = True


def objection(law: ChoiceLaw, epsilons: EpsilonInterval) -> Objection | None:
    """Return why `law` is no probability distribution for some ε of an interval; None if it is one.

    Weights are numbered from 1 in reasons; those of a loop are the weights of its steps.
    """
    signs = _Signs(epsilons)
    try:
        if isinstance(law, FiniteLaw):
            return signs.of_weights(law.weights, "weight")
        return _of_chain(law, signs)
    except LimitReached as out:
        return Objection(out.reason, proved=False)


def check_choices(choices: Iterable[Choice], epsilons: EpsilonInterval, hint: str = "") -> None:
    """Raise QuestionRefused if a choice is no probability distribution, its hint with an end;
    LimitReached in doubt."""
    for choice in {choice.law: choice for choice in choices}.values():
        found = objection(choice.law, epsilons)
        if found is None:
            continue
        loop = isinstance(choice.law, ChainLaw)
        place = "the outcome of a 'while' loop" if loop else f"the choice of '{choice.label}'"
        if not found.proved:
            raise LimitReached(f"{place}: {found.reason}")
        message = f"{place} is no probability distribution: {found.reason}"
        rule = "weights must be >= 0 and add up to 1, and loops must end, for every eps in question"
        raise QuestionRefused([Diagnostic("value error", message, choice.span, rule + hint)])


class _Signs:
    """Questions about weights on one interval; every answer is kept."""

    def __init__(self, epsilons: EpsilonInterval) -> None:
        self.epsilons = epsilons
        self._factors: dict[ExponentialPolynomial, int] = {}
        self._weights: dict[ExponentialRatio, Objection | None] = {}

    def of_weights(self, weights: Sequence[ExponentialRatio], name: str) -> Objection | None:
        """Check one distribution; `name` is the word for a weight."""
        for number, weight in enumerate(weights, start=1):
            if weight not in self._weights:
                self._weights[weight] = self._of_weight(weight)
            found = self._weights[weight]
            if found is not None:
                return Objection(f"{name} {number} {found.reason}", found.proved)
        total = ExponentialRatio.constant(0)
        for weight in weights:
            total = total + weight
        if self.epsilons.is_point:
            total = total.at(self.epsilons.lower)
        if (total - ExponentialRatio.constant(1)).numerator:
            known = total.as_constant()
            instead = "" if known is None else f", but to {known}"
            return Objection(f"the {name}s do not add up to 1{instead}")
        return None

    def _of_weight(self, weight: ExponentialRatio) -> Objection | None:
        sign = 1
        for factor, exponent in weight.denominator:
            below = self._sign_of_factor(factor)
            if not below:
                return Objection("is not defined for every eps: its denominator can be 0")
            sign *= below if exponent % 2 else 1
        numerator = weight.numerator if sign > 0 else -weight.numerator
        found = is_nonnegative(numerator, self.epsilons)
        match found:
            case Nonnegative():
                return None
            case Negative(eps):
                return Objection(f"is negative at eps = {exact_text(eps)}")
            case Undecided(reason):
                return Objection(f"may be negative: {reason}", proved=False)
            case _:
                assert_never(found)

    def _sign_of_factor(self, factor: ExponentialPolynomial) -> int:
        """The sign of a factor of a denominator on the interval; 0 if it has a zero there."""
        if factor not in self._factors:
            self._factors[factor] = self._computed_sign(factor)
        return self._factors[factor]

    def _computed_sign(self, factor: ExponentialPolynomial) -> int:
        if factor and all(c > 0 for _, c in factor.terms):
            return 1
        if self.epsilons.is_point:
            return sign_at(factor, self.epsilons.lower)
        chart = zeros(factor, self.epsilons)
        if chart.zeros or chart.zero_at_lower or chart.zero_at_upper:
            return 0
        return chart.signs[0]


def _of_chain(law: ChainLaw, signs: _Signs) -> Objection | None:
    edges = reached(possible(law))
    for state, targets in edges.items():
        check_limits()
        if not law.transitions[state]:
            continue
        found = signs.of_weights(list(targets.values()), "weight")
        if found is not None:
            return Objection(f"in a step of the loop, {found.reason}", found.proved)
    ends = [state for state in edges if not law.transitions[state]]
    if not set(ends) <= set(law.outcomes):
        return Objection("the loop can end in a state that is no outcome")
    if edges.keys() - reaching(edges, ends):
        return Objection("the loop does not end with probability 1")
    numerators = {
        (state, target): weight.numerator
        for state, targets in edges.items()
        for target, weight in targets.items()
    }
    for missing, place in vanishing_together(numerators, signs.epsilons):
        left = reached(
            {
                state: {t: weight for t, weight in targets.items() if (state, t) not in missing}
                for state, targets in edges.items()
            }
        )
        if left.keys() - reaching(left, ends):
            near = "at" if signs.epsilons.is_point else "near"
            where = f"{near} eps = {exact_text(place)}"
            return Objection(f"the loop does not end with probability 1 {where}")
        if signs.epsilons.is_point and _is_limit_case(law, place):
            return Objection(
                f"the loop at eps = {exact_text(place)} is no limit of its neighbours", False
            )
    return None


def _is_limit_case(law: ChainLaw, place: Fraction) -> bool:
    """Whether absorption at one ε may differ from the functions of ε that `absorption` finds.

    They agree at inner points and limits of intervals where the law is valid. A point where some
    transitions vanish need not be one.
    """
    law_there = law_at(law, place)
    assert isinstance(law_there, ChainLaw)
    fixed = absorption(law_there)
    general = absorption(law)
    for state in fixed.keys() | general.keys():
        nothing = ExponentialRatio.constant(0)
        try:
            value = general.get(state, nothing).at(place)
        except ZeroDivisionError:
            return True
        if (fixed.get(state, nothing) - value).numerator:
            return True
    return False


def law_at(law: ChoiceLaw, eps: Fraction) -> ChoiceLaw:
    """Fix ε > 0, to be read at ε' = 1; ZeroDivisionError where a weight is not defined."""
    if isinstance(law, FiniteLaw):
        return FiniteLaw(tuple(weight.at(eps) for weight in law.weights))
    rows = law.transitions
    fixed = tuple(tuple((target, weight.at(eps)) for target, weight in row) for row in rows)
    return ChainLaw(fixed, law.outcomes)


def vanishing_together(
    functions: Mapping[Key, ExponentialPolynomial], epsilons: EpsilonInterval
) -> Iterator[tuple[frozenset[Key], Fraction]]:
    """Yield, for every zero of some named functions in an interval, which of them are 0 there.

    With their names comes the zero, or a number near it. None of them is the zero function, unless
    the interval is a point. LimitReached: the zeros cannot be isolated.
    """
    names: dict[ExponentialPolynomial, list[Key]] = {}
    for name, function in functions.items():
        names.setdefault(function, []).append(name)
    if epsilons.is_point:
        vanishing = _zero_at(names, epsilons.lower)
        if vanishing:
            yield vanishing, epsilons.lower
        return
    found: list[tuple[Zero, list[Key]]] = []
    for function, keys in names.items():
        if all(c > 0 for _, c in function.terms) or all(c < 0 for _, c in function.terms):
            continue
        chart = zeros(function, epsilons)
        if chart.zero_at_lower:
            yield _zero_at(names, epsilons.lower), epsilons.lower
        if chart.zero_at_upper and epsilons.upper is not None:
            yield _zero_at(names, epsilons.upper), epsilons.upper
        found += ((zero, keys) for zero in chart.zeros)
    for cluster in in_order([zero for zero, _ in found]):
        if not cluster.equal:
            raise LimitReached("degree-budget: a common zero of functions of too high degrees")
        near = refine(cluster.zero, _NEAR)
        place = near.lower if near.is_exact else simplest(near.lower, near.upper, inside=True)
        yield frozenset(key for member in cluster.members for key in found[member][1]), place


def _zero_at(names: Mapping[ExponentialPolynomial, list[Key]], place: Fraction) -> frozenset[Key]:
    return frozenset(k for function, keys in names.items() if not function.at(place) for k in keys)
