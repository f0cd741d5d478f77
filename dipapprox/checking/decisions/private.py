"""A decision DP is checked: every inequality that it needs is among those that are proved.

    recorded functions -> proofs examined -> known signs
    program -> closed forms of all inputs -> differences g_o of all pairs -> needed inequalities

For δ = 0 each single output needs -g_o >= 0. For δ > 0 the outputs of a pair with g_o <= 0 are left
out, those with g_o >= 0 are in every set, and all subsets of the others are needed: at every ε some
such set is at least as bad as any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

from dipapprox.certificates.decisions import CertificateOfPrivacy, Inequality
from dipapprox.checking import pairs
from dipapprox.checking.chains import require_ending
from dipapprox.checking.claims import DecisionClaim
from dipapprox.checking.decisions.delta import Delta, read_delta
from dipapprox.checking.decisions.forms import Forms
from dipapprox.checking.decisions.known_signs import KnownSigns
from dipapprox.checking.decisions.quotients import (
    Canonical,
    Quotient,
    canonical,
    constant,
    numerator_of_sum,
)
from dipapprox.checking.inputs import (
    inputs_to_derive,
    listed_pairs,
    neighbours,
    pair_text,
    values_of,
)
from dipapprox.checking.partial_result import PartialResult
from dipapprox.checking.values import Stuck
from dipapprox.digits import brief_text
from dipapprox.exponentials import ONE, ExponentialPolynomial
from dipapprox.language.core import Input, Program, Value
from dipapprox.limits import Limits
from dipapprox.privacy.notation import values_text

_MOST_FREE = 16
_DELTA_BITS = 2**12

_Term = tuple[int, int]
"""Numbers of (Pr[P(u) = o], Pr[P(u') = o])."""


def examine(
    record: CertificateOfPrivacy,
    claim: DecisionClaim,
    program: Program,
    partial: PartialResult,
    limits: Limits,
) -> None:
    """Derive again what is recorded of a decision DP, and compare.

    Raises:
        Stuck: If the check cannot follow something.
        UserError: If an input is none of the program's.
        LimitReached: If `limits` run out.
    """
    evidence = record.evidence
    listed = listed_pairs(record.pairs, program)
    inputs = inputs_to_derive(program, listed)
    signs = KnownSigns(claim.interval, limits)
    for k, sign in enumerate(evidence.signs):
        signs.learn(sign.function, sign.proof, f"evidence.signs[{k}]", partial)
    for k, each in enumerate(evidence.inequalities):
        where = f"evidence.inequalities[{k}]"
        signs.learn(each.function, each.proof, where, partial)
    partial.inequalities = len(evidence.inequalities)
    forms = Forms(program, inputs, limits)
    for chance in forms.chances:
        signs.require_choice(chance)
    for chain in forms.chains:
        require_ending(chain, forms.is_possible, signs.surely_happens)
    delta = _delta(claim, evidence.delta_below, signs, partial)
    if delta is None:
        return
    needed = _Needed(program, inputs, forms, claim.budget, delta, signs, limits)
    partial.inputs = len(inputs)
    partial.pairs = 0
    for first, mask in neighbours(program, inputs, listed):
        limits.check()
        for second in mask.nonzero()[0]:
            partial.pairs += 1
            for outputs, function in needed.of_pair(first, int(second)):
                if not signs.shows(function):
                    where = f"{pair_text((inputs[first], inputs[second]))}, outputs {outputs}"
                    partial.differ("evidence.inequalities", f"none is recorded for {where}")
    if record.pairs.count not in (None, partial.pairs):
        partial.differ("pairs.count", f"there are {partial.pairs}, not {record.pairs.count}")
    for k, each in enumerate(evidence.inequalities):
        _compare(each, f"evidence.inequalities[{k}]", needed, listed, partial)


def _delta(
    claim: DecisionClaim, below: Fraction | None, signs: KnownSigns, partial: PartialResult
) -> Quotient | None:
    """Return the δ that inequalities are about; None if it is not below the claimed one."""
    claimed = read_delta(claim.delta)
    if below is None:
        if claimed.exact is None:
            partial.differ("evidence.delta_below", "delta is no rational number")
        else:
            for divisor in (*claimed.divisors, Quotient(claimed.exact.bottom)):
                signs.require_divisor(divisor, "a denominator of delta")
        return claimed.exact
    if not _is_below(constant(below), claimed, signs):
        partial.differ(
            "evidence.delta_below", f"{brief_text(below)} is not shown to be at most delta"
        )
        return None
    return constant(below)


def _is_below(bound: Quotient, claimed: Delta, signs: KnownSigns) -> bool:
    """Whether a constant is at most a constant δ."""
    below = bound.top.as_constant()
    assert below is not None, "made from a number"
    if claimed.exact is not None:
        value = claimed.exact.top.as_constant()
        return value is not None and claimed.exact.bottom.as_constant() == 1 and below <= value
    return claimed.enclose(signs.interval.inner_point, _DELTA_BITS).lower >= below


def _compare(
    recorded: Inequality,
    where: str,
    needed: _Needed,
    listed: Sequence[pairs.Pair] | None,
    partial: PartialResult,
) -> None:
    """Compare a recorded form with that of its pair and outputs."""
    program = needed.program
    pair = values_of(recorded.input, program.inputs), values_of(recorded.adjacent, program.inputs)
    selected = pairs.are_adjacent(program, *pair) if listed is None else pair in listed
    if not selected:
        partial.differ(where, f"{pair_text(pair)} is not among the pairs to check")
        return
    outputs = [values_of(output, program.outputs) for output in recorded.outputs]
    if len(set(outputs)) < len(outputs):
        partial.differ(where, "an output is listed twice")
        return
    if needed.function(pair, outputs) != canonical(recorded.function):
        partial.differ(where, "the form is not that of its pair and outputs")


class _Needed:
    """The inequalities of a claim, as functions that must be >= 0; each yielded once."""

    def __init__(
        self,
        program: Program,
        inputs: Sequence[Input],
        forms: Forms,
        budget: Fraction,
        delta: Quotient,
        signs: KnownSigns,
        limits: Limits,
    ) -> None:
        self.program = program
        self._limits = limits
        self._signs = signs
        self._delta = delta
        self._budget = budget
        found = [forms.for_input(input) for input in inputs]
        self._outputs = list(dict.fromkeys(output for each in found for output in each))
        self._known: dict[Quotient, int] = {constant(0): 0}
        self._place = {input: k for k, input in enumerate(inputs)}
        self._inputs = [
            [
                self._known.setdefault(each.get(output, constant(0)), len(self._known))
                for output in self._outputs
            ]
            for each in found
        ]
        self._functions = list(self._known)
        self._met: set[tuple[_Term, ...]] = set()
        self._slacks: dict[tuple[_Term, ...], Canonical] = {}

    def of_pair(self, first: int, second: int) -> Iterator[tuple[str, Canonical]]:
        """Yield what a pair needs and was not yielded before, with its outputs for people."""
        terms = list(zip(self._inputs[first], self._inputs[second], strict=True))
        if not self._delta.top:
            for output, term in zip(self._outputs, terms, strict=True):
                # A probability is >= 0: where the first one is 0 nothing is to be shown.
                if term[0] and (term,) not in self._met:
                    self._met.add((term,))
                    yield values_text(output), self._slack([term])
            return
        key = tuple(sorted(terms))
        if key in self._met:
            return
        self._met.add(key)
        for chosen in self._sets(terms):
            own = [k for k, term in enumerate(terms) if term in chosen]
            text = ", ".join(values_text(self._outputs[k]) for k in own) or "none"
            yield text, self._slack([terms[k] for k in own])

    def _sets(self, terms: Sequence[_Term]) -> Iterator[frozenset[_Term]]:
        always: list[_Term] = []
        free: list[_Term] = []
        for term in sorted(set(terms)):
            difference = self._signs.same_sign(numerator_of_sum(self._difference(term, 1)))
            if self._signs.shows(tuple((n, q, -c) for n, q, c in difference)):
                continue
            (always if self._signs.shows(difference) else free).append(term)
        if len(free) > _MOST_FREE:
            raise Stuck(f"{len(free)} outputs of one pair change their signs: too many subsets")
        for size in range(len(free) + 1):
            for chosen in combinations(free, size):
                self._limits.check()
                yield frozenset((*always, *chosen))

    def function(self, pair: pairs.Pair, outputs: Sequence[tuple[Value, ...]]) -> Canonical:
        """Return what must be >= 0 for one pair and some outputs."""
        first, second = (self._inputs[self._place[input]] for input in pair)
        terms = []
        for output in outputs:
            if output not in self._outputs:
                continue  # no input has it
            at = self._outputs.index(output)
            terms.append((first[at], second[at]))
        return self._slack(terms)

    def _slack(self, terms: Sequence[_Term]) -> Canonical:
        """δ - Σ g_o up to a positive function."""
        key = tuple(sorted(terms))
        if key not in self._slacks:
            parts = [(ONE, self._delta)]
            for term, times in Counter(key).items():
                parts += self._difference(term, -times)
            self._slacks[key] = self._signs.same_sign(numerator_of_sum(parts))
        return self._slacks[key]

    def _difference(self, term: _Term, times: int) -> list[tuple[ExponentialPolynomial, Quotient]]:
        """times * g_o, as a sum."""
        p, q = (self._functions[number] for number in term)
        return [
            (ExponentialPolynomial.constant(times), p),
            (ExponentialPolynomial.monomial(-times, rate=self._budget), q),
        ]
