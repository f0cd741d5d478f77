"""Is the program (eps_prv, delta)-differentially private, at one eps or at all of an interval?"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.language.ast import Name, Number
from dipapprox.language.core import Program
from dipapprox.limits import Progress, silent
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.run import Setting
from dipapprox.privacy.verdict import Verdict
from dipapprox.questions import kinds
from dipapprox.questions.computing import PROVED, WHOLE
from dipapprox.questions.kinds import Pairs, Written
from dipapprox.questions.methods import VERIFY, AskedClaim
from dipapprox.questions.question import Question, argument

if TYPE_CHECKING:
    from dipapprox.language import formula as formulas
    from dipapprox.privacy.intervals import formula_claim
    from dipapprox.privacy.intervals.verdict import IntervalVerdict
    from dipapprox.proof_steps import decisions as proving_throughout
    from dipapprox.proof_steps import proved as proving
else:
    formulas = Deferred("dipapprox.language.formula")
    formula_claim = Deferred("dipapprox.privacy.intervals.formula_claim")
    proving = Deferred("dipapprox.proof_steps.proved")
    proving_throughout = Deferred("dipapprox.proof_steps.decisions")

PAIRS_HELP = (
    'all (default), single (the pair 0…0, 0…01), "0,0~0,1;…" (both orders), '
    "or a JSON file of ordered pairs"
)


@dataclass(frozen=True, slots=True)
class Verify(Question):
    """A claim; numbers and formulas are those of the program run at `eps`."""

    name: ClassVar[str] = "verify"
    computing: ClassVar[tuple[str, ...]] = (*WHOLE, PROVED)

    eps: Fraction | tuple[Fraction, Fraction] = argument(
        kinds.eps_or_interval,
        "E",
        "the program's ε, exact: 1/2, 0.5; or every ε in an interval: 0.1..1",
    )
    eps_prv: Fraction | Written | None = argument(
        kinds.claimed_eps_prv,
        "P",
        "the claimed ε_prv, a number or a formula in eps and delta (default: --eps)",
        default=None,
    )
    delta: Fraction | Written = argument(
        kinds.claimed_delta, "D", "the claimed δ in [0, 1], or a formula in eps"
    )
    pairs: Pairs = argument(kinds.pairs, "PAIRS", PAIRS_HELP, default="all")

    @property
    def claim(self) -> Claim | None:
        """The claim, if it is made of numbers."""
        match self.eps, self.eps_prv, self.delta:
            case Fraction() as eps, (None | Fraction()) as eps_prv, Fraction() as delta:
                return Claim(eps, delta, eps_prv)
            case _:
                return None

    @property
    def exact_delta(self) -> Fraction | None:
        """The claimed δ if it is a rational number at the one ε: what `delta` in a program is."""
        if isinstance(self.delta, Fraction):
            return self.delta
        values = {"eps": self.eps} if isinstance(self.eps, Fraction) else {}
        value = formulas.rational_value(self.delta.formula, values)
        return value if value is not None and 0 <= value <= 1 else None

    def answer(
        self, program: Program, options: Options, progress: Progress = silent
    ) -> Verdict | IntervalVerdict:
        """Verify the claim; see `Question.answer`."""
        setting = Setting(program, self.pairs.select(program), options, progress)
        found = AskedClaim(setting, self).answered(VERIFY)
        if not options.proved:
            return found
        if isinstance(found, Verdict):
            return proving.proved(setting, found)
        return proving_throughout.proved_throughout(setting, found)

    def formulas(self) -> formula_claim.FormulaClaim:
        """Return the claim, made of formulas."""
        own = Written(Name("eps"), "eps")
        eps_prv, delta = (
            Written(Number(each), str(each)) if isinstance(each, Fraction) else each or own
            for each in (self.eps_prv, self.delta)
        )
        return formula_claim.FormulaClaim(eps_prv.formula, delta.formula, eps_prv.text, delta.text)
