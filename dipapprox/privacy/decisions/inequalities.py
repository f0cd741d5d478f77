"""All inequalities behind a decision DP, each distinct one with what proves it: for certificates.

For δ = 0 these are the single outputs of all pairs. For δ > 0, at any ε the worst set of outputs
holds those o with g_o = Pr[P(u) = o] - e^{tε} Pr[P(u') = o] > 0. Outputs whose g_o is proved to be
<= 0 on the whole interval are left out of every set, those with g_o >= 0 belong to every set, and
of the others every subset is listed: a reader needs to know nothing about the order of zeros.

Functions have the form of `exact.signs.lowest_terms`, divided by positive c ε^n e^{qε}: whoever
derives the same difference of probabilities finds the same function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import combinations

from dipapprox.data_classes import dataclass, field
from dipapprox.distributions import FiniteLaw
from dipapprox.errors import LimitReached
from dipapprox.exact.distributions import ExactDistributions
from dipapprox.exact.signs.evidence import Evidence
from dipapprox.exact.signs.interval import EpsilonInterval, simplest_between
from dipapprox.exact.signs.lowest_terms import Quotient, lowest_terms, numerator_of_sum
from dipapprox.exact.signs.nonnegative import Negative, Nonnegative, is_nonnegative
from dipapprox.exact.signs.normal_form import normal_form
from dipapprox.exact.signs.positive import positive_on
from dipapprox.exact.signs.values import sign_at
from dipapprox.exponentials import ONE, ExponentialPolynomial, ExponentialRatio
from dipapprox.limits import Limits
from dipapprox.pairs.selections import Pair
from dipapprox.privacy.decisions.divergences import Functions, Obstacle, Terms, exponential_factor
from dipapprox.privacy.decisions.question import DecisionQuestion
from dipapprox.privacy.decisions.ranges import FIRST_BITS, LAST_BITS
from dipapprox.semantics.state import FinalStates

_MOST_FREE = 12
"""Most outputs of a pair, up to equal functions, whose g_o changes its sign."""


@dataclass(frozen=True, slots=True)
class Inequality:
    """δ - Σ_{o in outputs} g_o >= 0, for this pair and others.

    Attributes:
        pair: The first pair that it was met at.
        outputs: Positions of the outputs.
        function: The left side up to a positive function.
    """

    pair: Pair
    outputs: tuple[int, ...]
    function: ExponentialPolynomial
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Inequalities:
    """What proves a claim.

    Attributes:
        delta_below: A rational <= δ that the inequalities are about; None if δ is exact.
        signs: Functions >= 0 that are needed besides: weights, denominators, differences g_o.
    """

    delta_below: Fraction | None
    signs: tuple[tuple[ExponentialPolynomial, Evidence], ...]
    inequalities: tuple[Inequality, ...]


_NOTHING = lowest_terms(ExponentialRatio.constant(0))


class _NotShown(Exception):
    """An inequality does not hold with this bound of δ."""


def find_inequalities(
    states: FinalStates, question: DecisionQuestion, pairs: Iterable[Pair], limits: Limits
) -> Inequalities:
    """Prove all inequalities of a claim that holds.

    Raises:
        LimitReached: If some inequality cannot be proved, or the limits run out.
    """
    if question.delta.is_bracketed_function:
        raise LimitReached("δ varies with ε, with irrational constants: it is not recorded")
    source = ExactDistributions(states, None, limits)
    functions = Functions(source, exponential_factor(question.budget))
    every = tuple(pairs)
    delta = question.delta.as_function()
    bits = FIRST_BITS
    while True:
        low, high = delta.bounds(bits)
        search = _Search(functions, low, question.epsilons, limits)
        try:
            search.choices(states)
            for pair in every:
                search.pair(pair)
        except Obstacle as obstacle:
            raise LimitReached(obstacle.reason) from None
        except _NotShown:
            bits *= 2
            if low == high or bits > LAST_BITS:
                raise LimitReached("an inequality that was proved before is not") from None
            continue
        below = None if low == high else low.numerator.as_constant()
        return Inequalities(below, tuple(search.signs.items()), tuple(search.found))


@dataclass(slots=True)
class _Search:
    """One pass over all pairs, with one δ."""

    functions: Functions
    delta: ExponentialRatio
    interval: EpsilonInterval
    limits: Limits
    signs: dict[ExponentialPolynomial, Evidence] = field(default_factory=dict)
    found: list[Inequality] = field(default_factory=list)
    _met: set[Terms] = field(default_factory=set)
    _known: set[ExponentialPolynomial] = field(default_factory=set)
    _answers: dict[ExponentialPolynomial, Evidence | None] = field(default_factory=dict)
    _probabilities: dict[int, Quotient] = field(default_factory=dict)
    _delta: Quotient = field(init=False)
    _point: Fraction = field(init=False)

    def __post_init__(self) -> None:
        self._delta = lowest_terms(self.delta)
        self._point = self.interval.lower
        if not self.interval.is_point:
            self._point = simplest_between(self.interval.lower, self.interval.upper)

    def choices(self, states: FinalStates) -> None:
        """Note that weights are >= 0 and their denominators positive."""
        for choice in states.laws:
            if not isinstance(choice.law, FiniteLaw):
                continue
            for weight in choice.law.weights:
                top, bottom = lowest_terms(weight)
                if sign_at(bottom, self._point, self.limits) < 0:
                    top, bottom = -top, -bottom
                positive = positive_on(_canonical(bottom), self.interval, self.limits)
                if positive is not None:
                    self.signs[_canonical(bottom)] = positive
                self._sign(_canonical(top))

    def pair(self, pair: Pair) -> None:
        """Prove the inequalities of one pair, as far as they are new."""
        self.limits.check()
        first, second = self.functions.for_input(pair[0]), self.functions.for_input(pair[1])
        terms = tuple(zip(first, second, strict=True))
        if not self.delta.numerator:
            for output, term in enumerate(terms):
                self._prove(pair, (output,), (term,))
            return
        for chosen in self._sets(terms):
            outputs = tuple(o for o, term in enumerate(terms) if term in chosen)
            self._prove(pair, outputs, tuple(sorted(terms[o] for o in outputs)))

    def _sets(self, terms: Terms) -> Iterator[frozenset[tuple[int, int]]]:
        """Yield the sets that may be the worst: what changes its sign in all combinations."""
        always, free = set(), []
        for term in sorted(set(terms)):
            difference = _canonical(-self._slack((term,), _NOTHING))
            if self._sign(-difference):
                continue
            if self._sign(difference):
                always.add(term)
            else:
                free.append(term)
        if len(free) > _MOST_FREE:
            raise LimitReached(
                f"{len(free)} outputs of one pair change their signs; all their subsets would have "
                f"to be listed, and the limit is {_MOST_FREE}"
            )
        for size in range(len(free) + 1):
            for chosen in combinations(free, size):
                yield frozenset((*always, *chosen))

    def _prove(self, pair: Pair, outputs: tuple[int, ...], terms: Terms) -> None:
        if terms in self._met:
            return
        self._met.add(terms)
        function = _canonical(self._slack(terms, self._delta))
        if function in self._known:
            return
        self._known.add(function)
        evidence = self._evidence(function)
        if evidence is None:
            raise _NotShown
        self.found.append(Inequality(pair, outputs, function, evidence))

    def _sign(self, function: ExponentialPolynomial) -> bool:
        """Whether a function is >= 0; if so, note it."""
        evidence = self._evidence(function)
        if evidence is not None:
            self.signs.setdefault(function, evidence)
        return evidence is not None

    def _evidence(self, function: ExponentialPolynomial) -> Evidence | None:
        """What proves that a function is >= 0; None if it is negative somewhere."""
        if function not in self._answers:
            found = is_nonnegative(function, self.interval, self.limits)
            match found:
                case Nonnegative(evidence=evidence):
                    self._answers[function] = evidence
                case Negative():
                    self._answers[function] = None
                case _:
                    raise LimitReached(found.reason)
        return self._answers[function]

    def _slack(self, terms: Terms, delta: Quotient) -> ExponentialPolynomial:
        """Return a polynomial with the sign of delta - Σ g_o."""
        parts = [(ONE, delta)]
        for first, second in terms:
            parts.append((-ONE, self._probability(first)))
            parts.append((self.functions.factor, self._probability(second)))
        return numerator_of_sum(parts, self._point, self.limits)

    def _probability(self, number: int) -> Quotient:
        if number not in self._probabilities:
            self._probabilities[number] = lowest_terms(self.functions.known[number])
        return self._probabilities[number]


def _canonical(function: ExponentialPolynomial) -> ExponentialPolynomial:
    """Divide by a positive c ε^n e^{qε}."""
    return normal_form(function).function() if function else function
