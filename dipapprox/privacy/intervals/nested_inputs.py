"""Claims for all real inputs and every ε of an interval: by the greatest ε of each part.

**Lemma.** Let all noise of a program have scales c ε^p with one p <= 0, and let there be inputs v
within their ranges at which, with every sample at its mean, all comparisons are ties, and states
with the same finite outputs publish the same numbers w (`ties`). Measured from v, from the samples'
means at v, and from w, all means, and all that is compared or published, are sums of multiples of
samples and inputs, without constants; numbers that are moved by what is known tell as much. With
samples and inputs so measured multiplied by ε^(-p), noise has scales c and comparisons stay as they
are; numbers that are multiplied tell as much. So what happens at ε and an input v + u is what
happens at ε' and the input v + λ u, λ = (ε / ε')^(-p). Where ε <= ε', λ <= 1: ranges are convex and
hold v, so v + λ u and v + λ u' are inputs again, and adjacent if v + u and v + u' are. Hence for a
fixed ε_prv the largest δ at ε is at most that at ε'.

A claim therefore holds on [a, b] if the program run at b is private for the least ε_prv and the
least δ that are claimed on [a, b]; parts for which that cannot be shown are halved.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import EarlyEnd, LimitReached
from dipapprox.language.core import Listed, Program
from dipapprox.language.domains import AllReals
from dipapprox.limits import Limits, limited
from dipapprox.numerics.formula_values import Undefined
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.intervals.formula_claim import FormulaClaim
from dipapprox.privacy.intervals.formula_verifier import verify_formula
from dipapprox.privacy.intervals.search import between
from dipapprox.privacy.intervals.ties import inputs_at_ties
from dipapprox.privacy.intervals.verdict import IntervalVerdict
from dipapprox.privacy.options import Options
from dipapprox.privacy.run import run_of
from dipapprox.privacy.scope import scope_of
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.real_inputs import execute_for_declared
from dipapprox.semantics.state import FinalStates

_MOST_POINTS = 400

LEMMA = "inputs at a smaller ε are smaller inputs"
"""The words in reports."""


class NestedSearch:
    """Parts of an interval, judged at their greatest ε.

    Args:
        program: With real inputs.
        claim: What is claimed at each ε.
        options: How to compute.

    Attributes:
        points: Verifications of one ε.
        last: The last of them; None before.
        violation: Not_DP at one ε, if it was found.
        remaining: Parts that are open, ascending once `run` has ended.
        largest: An upper bound of δ on the parts that are not.
        reason: Why parts stayed open.
    """

    def __init__(self, program: Program, claim: FormulaClaim, options: Options) -> None:
        self._program, self._claim, self._options = program, claim, options
        self.points = 0
        self.last: Verdict | None = None
        self.violation: Verdict | None = None
        self.remaining: list[tuple[Fraction, Fraction]] = []
        self.largest = Fraction(0)
        self.reason: str | None = None

    def run(self, lower: Fraction, upper: Fraction) -> None:
        """Judge an interval; what is open stays in `remaining`.

        Raises:
            LimitReached: If a limit is reached.
        """
        self.remaining = [(lower, upper)]
        stuck: list[tuple[Fraction, Fraction]] = []
        while self.remaining and self.violation is None:
            self._options.limits.check()
            low, high = self.remaining[-1]
            holds = self._holds(low, high)
            if holds or self.violation is not None:
                self.remaining.pop()
            elif self.points >= _MOST_POINTS:
                self.reason = f"more than {_MOST_POINTS} parts of the interval would be needed"
                break
            elif holds is None and self.judge(high):
                stuck.append(self.remaining.pop())
            else:
                middle = between(low, high)
                self.remaining[-1:] = [(middle, high), (low, middle)]
        self.remaining = sorted([*self.remaining, *stuck])

    def _holds(self, low: Fraction, high: Fraction) -> bool | None:
        """Whether a claim that implies those of a part holds; None: unknown."""
        try:
            eps_prv, delta = self._claim.over(low, high)
        except Undefined:
            return False
        # For b < 0, where e^b >= 1 + b, the largest δ is that for 0 and at most -b.
        below_0 = max(-eps_prv.value.lower, Fraction(0))
        least = delta.value.lower - below_0
        if least < 0:
            return None
        rate = max(eps_prv.value.lower, Fraction(0))
        strong = Claim(high, min(least, Fraction(1)), rate)
        found = self._noted(verify(self._program, strong, AllPairs(), self._options))
        if found.answer is Answer.DP:
            if found.delta_enclosure is not None:
                self.largest = max(self.largest, found.delta_enclosure.upper + below_0)
            return True
        if found.answer is Answer.NOT_DP:
            self.judge(high)
            return False
        return None

    def judge(self, eps: Fraction) -> bool:
        """Judge the claim at one ε, whether it fails; return whether nothing is known of it."""
        claim, options = self._claim, self._options
        found = self._noted(verify_formula(self._program, claim, eps, AllPairs(), options))
        if found.answer is Answer.NOT_DP:
            self.violation = found
        elif found.answer is Answer.UNKNOWN:
            self.reason = found.reason
        return found.answer is Answer.UNKNOWN

    def _noted(self, found: Verdict) -> Verdict:
        self.points += 1
        self.last = found
        if found.interrupted:
            raise KeyboardInterrupt
        self._options.limits.check()  # what ended this one early is no reason of the next
        return found


def verify_nested(
    program: Program,
    claim: FormulaClaim,
    lower: Fraction,
    upper: Fraction,
    options: Options,
) -> IntervalVerdict:
    """Decide whether a claim holds for all real inputs and every ε in [lower, upper].

    Unknown, with the reason, if the lemma does not cover the program and no end refutes the claim.

    Raises:
        UserError: If the value of a real input is needed, or the adjacency does not suit.
    """
    states: FinalStates | None = None
    search = NestedSearch(program, claim, options)
    with EarlyEnd() as end, limited(options.limits):
        states = execute_for_declared(program, options.merge, options.limits)
        obstacle = next(_obstacles(states, options.limits), None)
        if obstacle is None:
            search.run(lower, upper)
        else:
            for eps in (upper, lower):
                if search.violation is None:
                    search.judge(eps)
            raise LimitReached(f"every ε of an interval, real inputs: {obstacle}")
    answer, reason, delta = Answer.UNKNOWN, end.reason or search.reason, None
    remaining = tuple(search.remaining) or ((lower, upper),)
    if search.violation is not None:
        answer, reason, remaining = Answer.NOT_DP, None, ()
        delta = search.violation.delta_enclosure
    elif states is not None and end.reason is None and not search.remaining:
        answer, reason, remaining = Answer.DP, None, ()
        delta = Enclosure(Fraction(0), search.largest)
    last = search.last if search.violation is None else search.violation
    engine = options.engine.value if last is None else last.engine
    return IntervalVerdict(
        run=run_of(
            program,
            scope_of(program, AllPairs()),
            pairs=None,
            outputs=0 if states is None else len(states.outputs),
            final_states=0 if states is None else len(states.states),
            precision=options.precision if last is None else last.precision,
            engine=f"{engine} + {LEMMA}" if answer is Answer.DP else engine,
            seconds=options.limits.elapsed(),
            reason=reason,
        ),
        lower=lower,
        upper=upper,
        claim=claim,
        answer=answer,
        points=search.points,
        delta_enclosure=delta,
        violation=search.violation,
        remaining=remaining,
        interrupted=end.interrupted and answer is Answer.UNKNOWN,
    )


def _obstacles(states: FinalStates, limits: Limits) -> Iterator[str]:
    """Yield why the lemma does not cover a program."""
    program = states.program
    if program.rounding is not None:
        yield "scales that are irrational"
    if isinstance(program.adjacency, Listed):
        yield "listed pairs"
    if states.choices or states.laws:
        yield "random choices among finitely many values"
    are_real = all(isinstance(cell.domain, AllReals) for cell in program.inputs)
    if not are_real:
        yield "finite inputs beside real ones"
    powers = {sample.scale.power for sample in states.samples}
    if len(powers) > 1 or any(power > 0 for power in powers):
        yield "noise does not shrink by one power of ε"
    if any(sample.family.is_discrete for sample in states.samples):
        yield "noise of integers"
    if any(state.conditions for state in states.states):
        yield "inputs are compared without noise"
    if are_real and inputs_at_ties(states, limits) is None:
        yield "without noise no inputs in their ranges make all comparisons ties"
