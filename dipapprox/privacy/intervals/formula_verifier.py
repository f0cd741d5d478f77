"""Claims by formulas at one eps: irrational numbers, proved through rational ones.

A claim is stronger the smaller eps_prv and delta are. So a proof for lower bounds of both proves
the claim, and a violation of upper bounds refutes it. The bounds are closer than any precision that
is asked for. An eps_prv such as log(3) needs no bounds: e^eps_prv is known exactly (`logarithms`).
Programs with irrational scales are judged alike, through rational ones (`rounded_scales`). What
bounds leave open, a delta that is attained, closed forms tell.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from dipapprox.arithmetic.enclosure import Enclosure, short
from dipapprox.data_classes import dataclass, replace
from dipapprox.deferred import Deferred
from dipapprox.errors import EarlyEnd, UserError
from dipapprox.pairs.divergence import Growth, eps_prv_factor
from dipapprox.pairs.selections import inputs_of
from dipapprox.privacy.claim import Claim, Stated
from dipapprox.privacy.intervals.formula_claim import FormulaClaim
from dipapprox.privacy.logarithms import growth_of
from dipapprox.privacy.methods import Consultation, always, consult
from dipapprox.privacy.options import Engine
from dipapprox.privacy.rounded_scales import error_of, widened, widened_witness
from dipapprox.privacy.rounded_scales import slack as rounding_slack
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.execution import execute

if TYPE_CHECKING:
    from dipapprox.privacy.decisions import by_closed_forms
else:
    by_closed_forms = Deferred("dipapprox.privacy.decisions.by_closed_forms")

_GUARD_BITS = 64

_TOO_SMALL = (
    "a scale is irrational, and the rational one in its place proves no claim with δ below "
    "{delta}; write a rational scale that is a little larger"
)


def verify_formula(setting: Setting, claim: FormulaClaim, eps: Fraction) -> Verdict:
    """Decide a claim at one eps; the answers mean what they mean in `verify`.

    Raises:
        UserError: If there is no claim at `eps`, or `verify` finds fault with its arguments.
    """
    claim.check(eps, eps)
    eps_prv, delta = claim.at(eps, setting.options.max_precision + _GUARD_BITS)
    asked = _Asked(setting, claim, eps, eps_prv, delta)
    consult(_METHODS, asked)
    verdict = asked.found
    assert verdict is not None, "rational bounds are always asked"
    if not eps_prv.width and not delta.width:
        return verdict
    slack = _slack(eps_prv) if asked.growth is None else Fraction(0)
    found = verdict.delta_enclosure
    return replace(
        verdict,
        delta_enclosure=None if found is None else widened(found, slack),
        witness=widened_witness(verdict.witness, Fraction(0), slack),
        stated_eps_prv=Stated(claim.eps_prv_text, eps_prv) if eps_prv.width else None,
        stated_delta=Stated(claim.delta_text, delta) if delta.width else None,
    )


@dataclass(slots=True)
class _Asked:
    """A claim at one ε: what it says, e^eps_prv as soon as it is known exactly, and the verdict so
    far."""

    setting: Setting
    claim: FormulaClaim
    eps: Fraction
    eps_prv: Enclosure
    delta: Enclosure
    growth: Growth | None = None
    found: Verdict | None = None

    @property
    def is_open(self) -> bool:
        """See `OpenQuestion`."""
        found = self.found
        return found is None or (found.answer is Answer.UNKNOWN and not found.interrupted)

    def bound(self) -> None:
        """Prove the claim's lower bounds, or refute its upper ones."""
        least = self.growth or _inside(self.eps_prv, self.claim.eps_prv_text)
        most = self.growth or self.eps_prv.upper
        strong = Claim(self.eps, _inside(self.delta, self.claim.delta_text), least)
        weak = Claim(self.eps, min(self.delta.upper, Fraction(1)), most)
        self.found = self._between(self.setting, strong, weak)

    def knows_growth(self) -> bool:
        """Whether e^eps_prv is known exactly, where eps_prv is not."""
        if self.eps_prv.width:
            exactly = {} if self.delta.width else {"delta": self.delta.lower}
            self.growth = growth_of(self.claim.eps_prv, {"eps": self.eps, **exactly})
        return self.growth is not None

    def may_be_attained(self) -> bool:
        """Whether closed forms know a δ that rational numbers are only about."""
        exact = not error_of(self.setting.program) and not self.setting.is_real
        between = bool(self.delta.width) and not self.eps_prv.width
        return between and exact and self.setting.options.compares_exactly

    def settle(self) -> None:
        """Ask closed forms, which know δ as the number that it is.

        A violation is left to enclosures: one that is too small for them is hardly ever met.
        """
        setting, verdict = self.setting, self.found
        assert verdict is not None
        settled = None
        with EarlyEnd():
            published = bool(setting.program.real_outputs)
            states = execute(
                setting.program,
                setting.options.merge,
                setting.limits,
                compared=not published,
                real_outputs=published,
                inputs=inputs_of(setting.selection),
            )
            settled = by_closed_forms.settle(states, self.claim, self.eps, self.eps, setting)
        if settled is None or settled.eps is not None:
            return
        seen = verdict.delta_enclosure
        if seen is None and verdict.witness is not None:
            seen = verdict.witness.delta_enclosure
        least = Fraction(0) if seen is None else max(seen.lower, Fraction(0))
        engine = " + ".join(dict.fromkeys((*verdict.engine.split(" + "), Engine.EXACT.value)))
        run = replace(
            verdict.run,
            pairs=setting.count(),
            reason=None,
            engine=engine,
            seconds=setting.limits.elapsed(),
        )
        delta = Enclosure(least, max(least, self.delta.upper))
        self.found = replace(
            verdict, answer=Answer.DP, run=run, delta_enclosure=delta, witness=None
        )

    def _between(self, setting: Setting, strong: Claim, weak: Claim) -> Verdict:
        """Prove the stronger of two claims, or refute the weaker one.

        Irrational scales of the program are replaced by rational ones.
        """
        if error_of(setting.program):
            return self._with_rational_scales(strong, weak)
        verdict = verify(setting, strong)
        if verdict.answer is Answer.NOT_DP and strong != weak:
            return self._confirmed(verdict, setting, weak)
        return verdict

    def _with_rational_scales(self, strong: Claim, weak: Claim) -> Verdict:
        program = self.setting.program
        error, slack = error_of(program), rounding_slack(program, weak.growth)
        exact = replace(self.setting, program=program.with_rational_scales())
        least, most = strong.delta - slack, min(weak.delta + slack, Fraction(1))
        weaker = Claim(weak.eps, most, weak.growth)
        if least >= 0:
            stronger = Claim(strong.eps, least, strong.growth)
            verdict = self._between(exact, stronger, weaker)
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

    def _confirmed(self, verdict: Verdict, setting: Setting, weak: Claim) -> Verdict:
        """Check the violating pair of a stronger claim against a weaker one."""
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


_METHODS: tuple[Consultation[_Asked], ...] = (
    Consultation("rational bounds", always, _Asked.bound),
    Consultation("e^ε_prv as it is", _Asked.knows_growth, _Asked.bound),
    Consultation("closed forms", _Asked.may_be_attained, _Asked.settle),
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
