"""How likely is every output for one input?"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from dipapprox.data_classes import Record
from dipapprox.events.intervals import Interval
from dipapprox.language.core import Program
from dipapprox.limits import Progress, silent
from dipapprox.privacy.options import Options
from dipapprox.privacy.probabilities import OutputDistribution, output_distribution
from dipapprox.privacy.rounded_scales import error_of
from dipapprox.questions import kinds, numbers
from dipapprox.questions.kinds import GivenInput
from dipapprox.questions.question import WHOLE, Question, argument
from dipapprox.semantics.real_inputs import with_values


class Probability(Record, Question):
    """The output distribution of one input."""

    name: ClassVar[str] = "probability"
    computing: ClassVar[tuple[str, ...]] = tuple(name for name in WHOLE if name != "max_precision")

    eps: Fraction = argument(numbers.positive, "E", "the program's ε, exact: 1/2, 0.5")
    input: GivenInput = argument(
        kinds.an_input,
        "ROW",
        "values of all input cells in order of declaration: 0,1 or bot,top",
        default="",
    )
    relative_width: Fraction | None = argument(
        numbers.share,
        "W",
        "refine until every enclosure is at most W times its probability wide, in (0, 1): 1e-6 for "
        "six digits (--precision is absolute)",
        default=None,
    )

    where: Mapping[str, Interval] = argument(
        kinds.intervals,
        "CONDITIONS",
        'real outputs in intervals: "0 <= y <= 1, z[2] >= 3" (default: any numbers)',
        default="",
        swept=False,
    )

    def answer(
        self, program: Program, options: Options, progress: Progress = silent
    ) -> OutputDistribution:
        return self.with_densities(program, options, 0)

    def with_densities(self, program: Program, options: Options, bins: int) -> OutputDistribution:
        """Do the same, and compute densities of real outputs in so many bins."""
        input = self.input.of(program)
        program = with_values(program, [(input, input)])
        width = self.relative_width
        exact, error = program.with_rational_scales(), error_of(program)
        found = output_distribution(exact, self.eps, input, options, width, self.where, bins)
        return found.widened(error)
