"""One pair of output distributions, for accountants that compose mechanisms.

dp_accounting composes privacy loss distributions; it makes one from two probability vectors
(`privacy_loss_distribution.from_two_probability_mass_functions`), which `to_pld` returns.
Enclosures become doubles there: what an accountant makes of them is not proved.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.arithmetic.enclosure import Enclosure, NotEnclosed
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.data_classes import Record
from dipapprox.language.core import Cell, Input, Program, Value
from dipapprox.language.values import check_input
from dipapprox.numerics.powers import logarithm
from dipapprox.privacy.description import Description, Tone
from dipapprox.privacy.notation import ends, plain_value, valuation, valuation_text
from dipapprox.privacy.options import Options
from dipapprox.privacy.result import Result
from dipapprox.privacy.run import WitnessRow, pair_table
from dipapprox.privacy.sources import open_probabilities
from dipapprox.semantics.execution import execute

LogProbabilities = dict[tuple[int | str, ...], float]
"""Natural logarithms of probabilities by output; outputs of probability 0 are left out."""

_LOGARITHM_BITS = 60


class PairDistributions(Record, Result):
    """The output distributions of a program for two inputs, output by output."""

    program: str
    eps: Fraction
    inputs: tuple[Cell, ...]
    output_cells: tuple[Cell, ...]
    input: Input
    adjacent: Input
    outputs: tuple[tuple[Value, ...], ...]
    probabilities: tuple[Enclosure, ...]
    adjacent_probabilities: tuple[Enclosure, ...]

    def to_pld(self) -> tuple[LogProbabilities, LogProbabilities]:
        """Return (lower, upper) as dp_accounting takes them.

            lower, upper = pair.to_pld()
            pld = from_two_probability_mass_functions(lower, upper, symmetric=False)
            pld.get_delta_for_epsilon(0.1)   # delta from this pair's first input to its second

        `upper` belongs to the first input, `lower` to the adjacent one; numbers are logarithms of
        midpoints, as doubles.
        """
        return self._logarithms(self.adjacent_probabilities), self._logarithms(self.probabilities)

    def to_dict(self) -> dict[str, object]:
        rows = zip(self.outputs, self.probabilities, self.adjacent_probabilities, strict=True)
        return {
            "program": self.program,
            "eps": str(self.eps),
            "input": valuation(self.inputs, self.input),
            "adjacent": valuation(self.inputs, self.adjacent),
            "outputs": [
                {
                    "output": valuation(self.output_cells, output),
                    "probability": ends(p),
                    "adjacent_probability": ends(q),
                }
                for output, p, q in rows
            ],
        }

    def describe(self) -> Description:
        rows = [
            WitnessRow(output, p, q)
            for output, p, q in zip(
                self.outputs, self.probabilities, self.adjacent_probabilities, strict=True
            )
        ]
        pair = valuation_text(self.inputs, self.input), valuation_text(self.inputs, self.adjacent)
        title = f"{self.program}, ε = {self.eps}"
        table = pair_table(title, pair, self.output_cells, rows)
        return Description("", "", Tone.PLAIN, (), (table,))

    def _logarithms(self, probabilities: tuple[Enclosure, ...]) -> LogProbabilities:
        found: LogProbabilities = {}
        for output, p in zip(self.outputs, probabilities, strict=True):
            if p.upper:
                middle = logarithm((p.lower + p.upper) / 2, _LOGARITHM_BITS)
                found[tuple(map(plain_value, output))] = float(middle.lower)
        return found


@sound_arithmetic()
def pair_distributions(
    program: Program, eps: Fraction, input: Input, adjacent: Input, options: Options
) -> PairDistributions | NotEnclosed:
    """Enclose the output distributions of two inputs.

    Raises:
        UserError: If an input is not in the domains.
    """
    check_input(program, input)
    check_input(program, adjacent, "adjacent")
    inputs = (input,) if input == adjacent else (input, adjacent)
    states = execute(program, options.merge, options.limits, compared=True, inputs=inputs)
    source = open_probabilities(states, eps, options)
    found = []
    for probabilities in source.distributions((input, adjacent), options.precision):
        if isinstance(probabilities, NotEnclosed):
            return probabilities
        found.append(tuple(probabilities))
    return PairDistributions(
        program=program.name,
        eps=eps,
        inputs=program.inputs,
        output_cells=program.outputs,
        input=input,
        adjacent=adjacent,
        outputs=tuple(map(tuple, states.outputs)),
        probabilities=found[0],
        adjacent_probabilities=found[1],
    )
