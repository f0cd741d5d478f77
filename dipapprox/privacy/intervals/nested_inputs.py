"""Claims for all real inputs and every ε of an interval: by the greatest ε of each part.

**Lemma.** Let all noise of a program have scales c ε^p with one p <= 0, and let there be inputs v
within their ranges at which, with every sample at its mean, all comparisons are ties, and states
with the same finite outputs publish the same numbers w (below). Measured from v, from the samples'
means at v, and from w, all means, and all that is compared or published, are sums of multiples of
samples and inputs, without constants; numbers that are moved by what is known tell as much. With
samples and inputs so measured multiplied by ε^(-p), noise has scales c and comparisons stay as they
are; numbers that are multiplied tell as much. So what happens at ε and an input v + u is what
happens at ε' and the input v + λ u, λ = (ε / ε')^(-p). Where ε <= ε', λ <= 1: ranges are convex and
hold v, so v + λ u and v + λ u' are inputs again, and adjacent if v + u and v + u' are. Hence for a
fixed ε_prv the largest δ at ε is at most that at ε'.

A claim therefore holds on [a, b] if the program run at b is private for the least ε_prv and the
least δ that are claimed on [a, b]; parts for which that cannot be shown are halved, as all parts
of intervals are (`search`).

Ties. Inputs at which every comparison of a program is a tie, were there no noise.

    final states with real inputs -> a point of the inputs' ranges, or None

The point c, with every sample at its mean there, makes both sides of every guard equal, and gives
all final states with the same finite outputs the same published numbers. These are linear equations
in c; whether the ranges hold a solution is a linear programme, solved exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.data_classes import replace
from dipapprox.language.core import Listed
from dipapprox.language.domains import AllReals
from dipapprox.limits import check_limits, silent
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.half_spaces import nearest_point
from dipapprox.numerics.formula_values import Undefined
from dipapprox.privacy.intervals.formula_verifier import verify_formula
from dipapprox.privacy.intervals.search import EpsilonCell, EpsilonPoint
from dipapprox.privacy.intervals.verdict import BITS, FormulaClaim, growth_at
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.state import FinalStates, guards_of


def inputs_at_ties(states: FinalStates) -> Mapping[str, Fraction] | None:
    """Find inputs within their ranges, all real, at which all comparisons are ties without
    noise."""
    cells = states.program.inputs
    own = list[LinearForm]()
    for form in dict.fromkeys(_vanishing(states)):
        if form.is_constant:
            if form.constant:
                return None
            continue
        own += (form, -form)
    for cell in cells:
        bounds = cell.domain.bounds if isinstance(cell.domain, AllReals) else None
        if bounds is not None:
            value = LinearForm.symbol(cell.name)
            low, high = map(LinearForm.constant_form, bounds)
            own += (value - high, low - value)
    found = nearest_point(own, [cell.name for cell in cells])
    return None if found is None else {cell.name: found[cell.name] for cell in cells}


def _vanishing(states: FinalStates) -> Iterator[LinearForm]:
    """Yield forms over inputs that have to be 0."""
    means: dict[Symbol, LinearForm] = {k: each.mean for k, each in enumerate(states.samples)}
    published = dict[object, tuple[LinearForm, ...]]()
    for state in states.states:
        check_limits()
        for guard in guards_of(state.path):
            yield guard.form.substitute(means)
        own = tuple(form.substitute(means) for form in state.reals)
        first = published.setdefault(state.outputs, own)
        for form, other in zip(own, first, strict=True):
            yield form - other


_LEMMA = "inputs at a smaller ε are smaller inputs"  # the words in reports


class _Judged(EpsilonPoint[Answer]):
    """One ε, judged by `verify`: it may know the answer where enclosures do not tell."""

    @property
    def violated(self) -> bool:
        return self.known is Answer.NOT_DP

    @property
    def holds(self) -> bool:
        return self.known is Answer.DP


class NestedClaims:
    """A claim about all real inputs, as an `IntervalSearch` asks: parts by their greatest ε."""

    def __init__(
        self, setting: Setting, claim: FormulaClaim, whole: tuple[Fraction, Fraction]
    ) -> None:
        self._setting = replace(setting, progress=silent)
        self._claim, self._whole = claim, whole
        self._known: dict[tuple[Fraction, Fraction], Fraction | None] = {}
        self._engine = setting.options.engine.value
        self.violation: Verdict | None = None

    @property
    def name(self) -> str:
        proved = any(largest is not None for largest in self._known.values())
        return f"{self._engine} + {_LEMMA}" if proved else self._engine

    def __len__(self) -> int:
        """How many pairs may have different distributions: infinitely many count as one."""
        return 1

    def point(self, eps: Fraction, bits: int) -> EpsilonPoint[Answer]:
        """See `Subdivided`; where all of the interval is proved at once, nothing else is asked."""
        eps_prv, delta = self._claim.at(eps, BITS)
        factor, whole = growth_at(eps_prv), self._largest(*self._whole)
        if whole is not None:
            largest = Enclosure(Fraction(0), whole)
            return _Judged(eps, Answer.DP, factor, delta, largest, None, True, None)
        found = self._noted(verify_formula(self._setting, self._claim, eps))
        if found.answer is Answer.NOT_DP:
            self.violation = found
        obstacle = found.reason if found.answer is Answer.UNKNOWN else None
        largest = found.delta_enclosure or UNIT
        return _Judged(eps, found.answer, factor, delta, largest, None, True, obstacle)

    def cell(self, lower: EpsilonPoint[Answer], upper: EpsilonPoint[Answer]) -> EpsilonCell[Answer]:
        largest = self._largest(lower.eps, upper.eps)
        if largest is None:
            return EpsilonCell(lower, upper, Fraction(1), Fraction(1))
        return EpsilonCell(lower, upper, Fraction(0), largest)

    def _largest(self, low: Fraction, high: Fraction) -> Fraction | None:
        """Bound δ on a part on which a claim holds that implies all of the part's; or None."""
        if (low, high) not in self._known:
            self._known[low, high] = self._proved(low, high)
        return self._known[low, high]

    def _proved(self, low: Fraction, high: Fraction) -> Fraction | None:
        try:
            eps_prv, delta = self._claim.over(low, high)
        except Undefined:
            return None
        # For b < 0, where e^b >= 1 + b, the largest δ is that for 0 and at most -b.
        below_0 = max(-eps_prv.value.lower, Fraction(0))
        least = delta.value.lower - below_0
        if least < 0:
            return None
        rate = max(eps_prv.value.lower, Fraction(0))
        strong = Claim(high, min(least, Fraction(1)), rate)
        found = self._noted(verify(self._setting, strong))
        if found.answer is not Answer.DP:
            return None
        known = found.delta_enclosure
        return least + below_0 if known is None else known.upper + below_0

    def _noted(self, found: Verdict) -> Verdict:
        self._engine = found.engine
        if found.interrupted:
            raise KeyboardInterrupt
        check_limits()  # what ended this one early is no reason of the next
        return found


def obstacles(states: FinalStates) -> Iterator[str]:
    """Yield why the lemma does not cover a program with real inputs."""
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
    if are_real and inputs_at_ties(states) is None:
        yield "without noise no inputs in their ranges make all comparisons ties"
