"""At which eps does a claim hold, next to one at which it fails?"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from dipapprox.data_classes import dataclass
from dipapprox.deferred import Deferred
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.limits import Progress, silent
from dipapprox.privacy.methods import consult
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.calibration_result import Calibration
from dipapprox.questions import kinds, numbers
from dipapprox.questions.computing import PROVED, WHOLE
from dipapprox.questions.kinds import Pairs
from dipapprox.questions.methods import CALIBRATE, AskedCalibration
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
        selection = self.pairs.select(program)
        if options.proved and program.rounding is not None:
            raise UserError("'proved': the kernel has no rules for irrational scales")
        claim = self.eps_prv, self.delta, self.width
        asked = AskedCalibration(program, selection, options, progress, *claim)
        consult(CALIBRATE, asked)
        found = asked.found
        assert found is not None, "the profile is always asked"
        if options.proved:
            return proving.proved_calibration(program, found, selection, options.limits)
        return found
