"""At which eps does a claim hold, next to one at which it fails?"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from dipapprox.data_classes import dataclass, replace
from dipapprox.deferred import Deferred
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.limits import Progress, silent
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles import calibration
from dipapprox.privacy.profiles.calibration_result import Calibration
from dipapprox.privacy.profiles.profile_result import LeastEpsPrv
from dipapprox.privacy.profiles.question import AtDelta
from dipapprox.privacy.run import Setting
from dipapprox.questions import kinds, numbers
from dipapprox.questions.computing import PROVED, WHOLE
from dipapprox.questions.kinds import Pairs
from dipapprox.questions.methods import AskedProfile
from dipapprox.questions.question import Question, argument
from dipapprox.questions.verify import PAIRS_HELP

if TYPE_CHECKING:
    from dipapprox.proof_steps import ends as proving
else:
    proving = Deferred("dipapprox.proof_steps.ends")


@dataclass(frozen=True, slots=True)
class Calibrate(Question):
    """A certified eps of the program, and a slightly larger, refuted one."""

    name: ClassVar[str] = "calibrate"
    computing: ClassVar[tuple[str, ...]] = (*WHOLE, PROVED)

    eps_prv: Fraction = argument(numbers.nonnegative, "P", "the claimed ε_prv")
    delta: Fraction = argument(numbers.probability, "D", "the claimed δ in [0, 1]")
    width: Fraction = argument(
        numbers.share,
        "W",
        "wanted distance of the two ε, relative to the larger (default: 1e-6)",
        default="1e-6",
    )
    pairs: Pairs = argument(kinds.pairs, "PAIRS", PAIRS_HELP, default="all")

    def answer(
        self, program: Program, options: Options, progress: Progress = silent
    ) -> Calibration:
        """Calibrate the program; see `Question.answer`."""
        setting = Setting(program, self.pairs.select(program), options, progress)
        if options.proved and program.rounding is not None:
            raise UserError("'proved': the kernel has no rules for irrational scales")
        question, silently = AtDelta(self.delta), replace(setting, progress=silent)
        profiled = AskedProfile(silently, Fraction(1), question)
        near = profiled.is_pure and profiled.prefers_budgets and not setting.is_real

        def least(eps: Fraction, question: AtDelta) -> LeastEpsPrv:
            found = profiled.at(eps, question)
            assert isinstance(found, LeastEpsPrv)
            return found

        found = calibration.calibrate(
            setting,
            least,
            self.eps_prv,
            self.delta,
            self.width,
            near_budget=near and profiled.budget is not None,
        )
        if options.proved:
            return proving.proved_calibration(setting, found)
        return found
