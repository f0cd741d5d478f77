"""Claims through stronger ones: by formulas at one eps, and on intervals for all real inputs.

**Formulas at one eps.** Irrational numbers, proved through rational ones.

A claim is stronger the smaller eps_prv and delta are. So a proof for lower bounds of both proves
the claim, and a violation of upper bounds refutes it. The bounds are closer than any precision that
is asked for. An eps_prv such as log(3) needs no bounds: e^eps_prv is known exactly (`logarithms`).
Programs with irrational scales are judged alike, through rational ones (`rounded_scales`). What
bounds leave open, a delta that is attained, closed forms tell.

**All real inputs and every ε of an interval**, by the greatest ε of each part.

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

**Ties.** Inputs at which every comparison of a program is a tie, were there no noise.

    final states with real inputs -> a point of the inputs' ranges, or None

The point c, with every sample at its mean there, makes both sides of every guard equal, and gives
all final states with the same finite outputs the same published numbers. These are linear equations
in c; whether the ranges hold a solution is a linear programme, solved exactly.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, short
from dipapprox.data_classes import replace
from dipapprox.errors import EarlyEnd, UserError
from dipapprox.language.core import Listed
from dipapprox.language.domains import AllReals
from dipapprox.limits import check_limits, current, silent
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.linear.half_spaces import nearest_point
from dipapprox.numerics.formula_values import Undefined
from dipapprox.pairs.divergence import Growth, eps_prv_factor
from dipapprox.privacy.decisions import by_closed_forms
from dipapprox.privacy.intervals.search import EpsilonCell, EpsilonPoint
from dipapprox.privacy.intervals.verdict import BITS, FormulaClaim, growth_at
from dipapprox.privacy.logarithms import growth_of
from dipapprox.privacy.rounded_scales import error_of, widened, widened_witness
from dipapprox.privacy.rounded_scales import slack as rounding_slack
from dipapprox.privacy.run import Engine, Setting
from dipapprox.privacy.subjects import executed_for
from dipapprox.privacy.verdict import Answer, Claim, Stated, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.state import FinalStates, guards_of

_GUARD_BITS = 64

_TOO_SMALL = (
    "a scale is irrational, and the rational one in its place proves no claim with δ below "
    "{delta}; write a rational scale that is a little larger"
)


def verify_formula(setting: Setting, claim: FormulaClaim, eps: Fraction) -> Verdict:
    """Decide a claim at one eps, as `verify` does; a `UserError` if there is none at `eps`, or
    `verify` finds fault with its arguments."""
    claim.check(eps, eps)
    eps_prv, delta = claim.at(eps, setting.options.max_precision + _GUARD_BITS)
    strong, weak = _bounds(claim, eps, eps_prv, delta, None)
    verdict = _between(setting, strong, weak)
    growth = None
    if _is_open(verdict) and eps_prv.width:
        exactly = {} if delta.width else {"delta": delta.lower}
        growth = growth_of(claim.eps_prv, {"eps": eps, **exactly})
        if growth is not None:
            verdict = _between(setting, *_bounds(claim, eps, eps_prv, delta, growth))
    exact = not error_of(setting.program) and not setting.is_real
    between = bool(delta.width) and not eps_prv.width
    if _is_open(verdict) and between and exact and setting.options.compares_exactly:
        verdict = _settled(verdict, setting, claim, eps, delta.upper)
    if not eps_prv.width and not delta.width:
        return verdict
    slack = _slack(eps_prv) if growth is None else Fraction(0)
    found = verdict.delta_enclosure
    return replace(
        verdict,
        delta_enclosure=None if found is None else widened(found, slack),
        witness=widened_witness(verdict.witness, Fraction(0), slack),
        stated_eps_prv=Stated(claim.eps_prv_text, eps_prv) if eps_prv.width else None,
        stated_delta=Stated(claim.delta_text, delta) if delta.width else None,
    )


def _is_open(found: Verdict) -> bool:
    return found.answer is Answer.UNKNOWN and not found.interrupted


def _bounds(
    claim: FormulaClaim, eps: Fraction, eps_prv: Enclosure, delta: Enclosure, growth: Growth | None
) -> tuple[Claim, Claim]:
    """Return claims that imply a claim at one ε, and that it implies."""
    least = growth or _inside(eps_prv, claim.eps_prv_text)
    strong = Claim(eps, _inside(delta, claim.delta_text), least)
    return strong, Claim(eps, min(delta.upper, Fraction(1)), growth or eps_prv.upper)


def _settled(
    verdict: Verdict, setting: Setting, claim: FormulaClaim, eps: Fraction, most: Fraction
) -> Verdict:
    """Ask closed forms, which know δ as the number that it is, `most` at most.

    A violation is left to enclosures: one that is too small for them is hardly ever met.
    """
    settled = None
    with EarlyEnd():
        states = executed_for(setting, parts=False)
        if isinstance(states, FinalStates):
            settled = by_closed_forms.settle(states, claim, eps, eps, setting)
    if settled is None or settled.eps is not None:
        return verdict
    seen = verdict.delta_enclosure
    if seen is None and verdict.witness is not None:
        seen = verdict.witness.delta_enclosure
    least = Fraction(0) if seen is None else max(seen.lower, Fraction(0))
    engine = " + ".join(dict.fromkeys((*verdict.engine.split(" + "), Engine.EXACT.value)))
    run = replace(
        verdict.run, pairs=setting.count(), reason=None, engine=engine, seconds=current().elapsed()
    )
    delta = Enclosure(least, max(least, most))
    return replace(verdict, answer=Answer.DP, run=run, delta_enclosure=delta, witness=None)


def _between(setting: Setting, strong: Claim, weak: Claim) -> Verdict:
    """Prove the stronger of two claims, or refute the weaker one.

    Irrational scales of the program are replaced by rational ones.
    """
    if error_of(setting.program):
        return _with_rational_scales(setting, strong, weak)
    verdict = verify(setting, strong)
    if verdict.answer is not Answer.NOT_DP or strong == weak:
        return verdict
    assert verdict.witness is not None, "Not_DP has a witness"
    again = verify(setting.about((verdict.witness.input, verdict.witness.adjacent)), weak)
    if again.answer is Answer.NOT_DP:
        run = replace(again.run, pairs=verdict.pairs, scope=verdict.scope)
        return replace(again, run=run)
    critical = "critical delta: the pair of the witness is too close to the claim"
    return replace(
        verdict,
        run=replace(verdict.run, reason=again.reason or critical),
        answer=Answer.UNKNOWN,
        delta_enclosure=None,
        interrupted=again.interrupted,
    )


def _with_rational_scales(setting: Setting, strong: Claim, weak: Claim) -> Verdict:
    program = setting.program
    error, slack = error_of(program), rounding_slack(program, weak.growth)
    exact = replace(setting, program=program.with_rational_scales())
    least, most = strong.delta - slack, min(weak.delta + slack, Fraction(1))
    weaker = Claim(weak.eps, most, weak.growth)
    if least >= 0:
        verdict = _between(exact, Claim(strong.eps, least, strong.growth), weaker)
    else:
        verdict = verify(exact, weaker)
        if verdict.answer is Answer.DP:
            reason = _TOO_SMALL.format(delta=short(Enclosure.exact(slack))[1])
            run = replace(verdict.run, reason=reason)
            verdict = replace(verdict, answer=Answer.UNKNOWN, run=run)
    found = verdict.delta_enclosure
    return replace(
        verdict,
        claim=weak if verdict.answer is Answer.NOT_DP else strong,
        delta_enclosure=None if found is None else widened(found, slack),
        witness=widened_witness(verdict.witness, error, slack),
    )


def _inside(value: Enclosure, text: str) -> Fraction:
    if value.lower < 0 <= value.upper:
        raise UserError(f"cannot tell whether '{text}' is negative: it is about 0")
    return value.lower


def _slack(eps_prv: Enclosure) -> Fraction:
    """Bound how much delta_{u,u'} changes with the eps_prv: by at most that of e^eps_prv."""
    bits = _GUARD_BITS
    high = eps_prv_factor(eps_prv.upper, bits).upper
    # Between the bounds e^b grows by at most e^upper times their distance (mean value theorem).
    return Fraction(1) if high is None else min(high * eps_prv.width, Fraction(1))


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
