"""How likely is every output for one input?"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from dipapprox.data_classes import Record
from dipapprox.errors import UserError, shorten
from dipapprox.events.event import EVERYWHERE, Interval, common
from dipapprox.language.core import Input, Program
from dipapprox.limits import Progress, silent
from dipapprox.privacy.probabilities import OutputDistribution, output_distribution
from dipapprox.privacy.rounded_scales import error_of
from dipapprox.privacy.run import Options
from dipapprox.questions import arguments, kinds
from dipapprox.questions.question import WHOLE, Question, argument, limited_by_options
from dipapprox.semantics.real_inputs import with_values


class GivenInput(Record):
    """An input as it was given; what it is, depends on the program."""

    given: object
    name: str

    def of(self, program: Program) -> Input:
        return kinds.input_of(self.given, self.name, program)


_CONDITION = re.compile(
    r"(?:(?P<low>[^<>=,]+)<=)?\s*(?P<name>[^\W\d]\w*(?:\[\d+\])?)\s*"
    r"(?:(?P<way><=|>=)(?P<end>[^<>=,]+))?",
    re.ASCII,
)


def _intervals(given: object, name: str) -> dict[str, Interval]:
    """Read intervals of numbers: "0 <= y <= 1, z[2] >= 3"."""
    found: dict[str, Interval] = {}
    for part in str(given).split(","):
        if not part.strip():
            continue
        match = _CONDITION.fullmatch(part.strip())
        if match is None or not (match["low"] or match["end"]):
            raise UserError(
                f"{name}: {shorten(repr(part.strip()))} is no interval",
                "write <= or >= behind the name, as in 0 <= y <= 1 or z[2] >= 3",
            )
        low = None if match["low"] is None else arguments.number(match["low"], name)
        end = None if match["end"] is None else arguments.number(match["end"], name)
        own = (low, end) if match["way"] != ">=" else (end, None)
        if match["way"] == ">=" and low is not None:
            raise UserError(f"{name}: write {low} <= {match['name']} <= …, not both ways")
        found[match["name"]] = common(found.get(match["name"], EVERYWHERE), own)
    return found


class Probability(Record, Question, kw_only=True):
    """The output distribution of one input."""

    name: ClassVar[str] = "probability"
    computing: ClassVar[tuple[str, ...]] = tuple(name for name in WHOLE if name != "max_precision")

    eps: Fraction = argument(arguments.positive, "E", "the program's ε, exact: 1/2, 0.5")
    input: GivenInput = argument(
        GivenInput,
        "ROW",
        "values of all input cells in order of declaration: 0,1 or bot,top",
        default="",
    )
    relative_width: Fraction | None = argument(
        arguments.share,
        "W",
        "refine until every enclosure is at most W times its probability wide, in (0, 1): 1e-6 for "
        "six digits (--precision is absolute)",
        default=None,
    )

    where: Mapping[str, Interval] = argument(
        _intervals,
        "CONDITIONS",
        'real outputs in intervals: "0 <= y <= 1, z[2] >= 3" (default: any numbers)',
        default="",
        swept=False,
    )

    @limited_by_options
    def answer(
        self, program: Program, options: Options, progress: Progress = silent
    ) -> OutputDistribution:
        return self.with_densities(program, options, 0)

    @limited_by_options
    def with_densities(self, program: Program, options: Options, bins: int) -> OutputDistribution:
        """Do the same, and compute densities of real outputs in so many bins."""
        input = self.input.of(program)
        program = with_values(program, [(input, input)])
        width = self.relative_width
        exact, error = program.with_rational_scales(), error_of(program)
        found = output_distribution(exact, self.eps, input, options, width, self.where, bins)
        return found.widened(error)
