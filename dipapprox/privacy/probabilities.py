"""The output distribution of a program for one input, enclosed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from math import ceil

from dipapprox.errors import EarlyEnd, UserError
from dipapprox.events.instantiate import Instantiator
from dipapprox.language.core import Cell, InputRow, Program, Value
from dipapprox.limits import rare_collections
from dipapprox.numerics.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.privacy.divergence import Probabilities
from dipapprox.privacy.notation import ends, row_text, valuation, valuation_text
from dipapprox.privacy.options import Options
from dipapprox.privacy.result import Result
from dipapprox.privacy.search import ProbabilitySource
from dipapprox.privacy.sources import open_source
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates


@dataclass(frozen=True, slots=True)
class OutputProbability:
    """One output: its probability and the number of final states that give it for this input."""

    output: tuple[Value, ...]
    probability: Enclosure
    final_states: int


@dataclass(frozen=True, slots=True)
class OutputDistribution(Result):
    """All outputs that some final state has, in order of first appearance.

    Attributes:
        precision: Bits that were asked for; with a relative width, those of the last attempt.
        seconds: From parsed arguments to the result.
        reason: Why the probabilities are not enclosed as narrowly as asked; None if they are.
            Without any enclosure they are in [0, 1]; `outputs` is empty if the program was not
            even executed to its end.
        interrupted: Whether Ctrl-C is the reason.
    """

    program: str
    epsilon: Fraction
    inputs: tuple[Cell, ...]
    output_cells: tuple[Cell, ...]
    row: InputRow
    outputs: tuple[OutputProbability, ...]
    precision: int
    engine: str
    seconds: float
    reason: str | None = None
    interrupted: bool = False

    def to_dict(self) -> dict[str, object]:
        """Return the fields of `probability --json`, a contract with other tools."""
        return {
            "program": self.program,
            "eps": str(self.epsilon),
            "input": valuation(self.inputs, self.row),
            "outputs": [
                {
                    "output": valuation(self.output_cells, each.output),
                    "probability": ends(each.probability),
                    "final_states": each.final_states,
                }
                for each in self.outputs
            ],
            "reason": self.reason,
            "precision": self.precision,
            "engine": self.engine,
            "seconds": round(self.seconds, 6),
        }

    def _repr_html_(self) -> str:
        rows = []
        for each in self.outputs:
            lower, upper = ends(each.probability)
            output = escape(valuation_text(self.output_cells, each.output))
            rows.append(f"<tr><td>{output}</td><td>[{lower}, {upper}]</td></tr>")
        return f"<table><tr><th>output</th><th>probability</th></tr>{''.join(rows)}</table>"


@rare_collections()
def output_distribution(
    program: Program,
    epsilon: Fraction,
    row: InputRow,
    options: Options,
    relative_width: Fraction | None = None,
) -> OutputDistribution:
    """Enclose the probability of every output for one input, as far as the limits allow.

    Args:
        program: Elaborated.
        epsilon: The program's privacy parameter.
        row: One value per input cell.
        options: `precision` is the absolute width that is asked for.
        relative_width: Each enclosure's width shall also be at most this share of the probability,
            as far as `max_precision` allows; None: however small the probabilities are, the
            absolute width is enough.

    Raises:
        UserError: If `epsilon` <= 0, `row` is not in the domains of the inputs, or the relative
            width is not in (0, 1).
        BrokenInvariant: If enclosures contradict each other.
    """
    if epsilon <= 0:
        raise UserError(f"eps must be > 0, got {epsilon}")
    if relative_width is not None and not 0 < relative_width < 1:
        raise UserError(f"the relative width must be in (0, 1), got {relative_width}")
    check_row(program, row)
    states: FinalStates | None = None
    source: ProbabilitySource | None = None
    found: Probabilities | NotEnclosed = NotEnclosed("nothing was computed")
    bits, wanted = options.precision, options.precision
    with EarlyEnd() as end:
        states = execute(program, options.merge, options.limits)
        source = open_source(states, epsilon, options)
        (found,) = source.distributions((row,), bits)
        while relative_width is not None and not isinstance(found, NotEnclosed):
            wanted = min(_bits_for(relative_width, found, bits), options.max_precision)
            if wanted <= bits:
                break
            bits = wanted
            found = _narrower(found, *source.distributions((row,), bits))
    if isinstance(found, NotEnclosed) and end.reason is not None:
        found = NotEnclosed(end.reason)
    return OutputDistribution(
        program=program.name,
        epsilon=epsilon,
        inputs=program.inputs,
        output_cells=program.outputs,
        row=row,
        outputs=() if states is None else _outputs(states, epsilon, row, found),
        precision=bits,
        engine=options.engine.value if source is None else source.name,
        seconds=options.limits.elapsed(),
        reason=end.reason or _shortfall(found, options.precision, relative_width),
        interrupted=end.interrupted,
    )


def _outputs(
    states: FinalStates, epsilon: Fraction, row: InputRow, found: Probabilities | NotEnclosed
) -> tuple[OutputProbability, ...]:
    counts = Counter(index for index, _, _ in Instantiator(states, epsilon).events(row))
    outputs = states.outputs()
    known = (UNIT,) * len(outputs) if isinstance(found, NotEnclosed) else found
    return tuple(
        OutputProbability(output, probability, counts[index])
        for index, (output, probability) in enumerate(zip(outputs, known, strict=True))
    )


def _bits_for(relative_width: Fraction, found: Probabilities, bits: int) -> int:
    """Return how many bits make all enclosures relatively narrow, as far as `found` tells.

    A probability p needs an absolute width of relative_width * p. Of what may still be 0 the size
    is unknown: twice the bits tell it, or that it is very small.
    """
    wide = [each for each in found if each.width > relative_width * each.lower]
    known = [each.lower for each in wide if each.lower]
    needed = ceil(1 / (relative_width * min(known))).bit_length() if known else 0
    return max(needed, 2 * bits if len(known) < len(wide) else 0)


def _narrower(
    found: Probabilities, again: Probabilities | NotEnclosed
) -> Probabilities | NotEnclosed:
    if isinstance(again, NotEnclosed):
        return again
    return tuple(old.intersect(new) for old, new in zip(found, again, strict=True))


def _shortfall(
    found: Probabilities | NotEnclosed, bits: int, relative_width: Fraction | None
) -> str | None:
    """Say why the probabilities are not enclosed as narrowly as asked; None if they are."""
    if isinstance(found, NotEnclosed):
        return found.reason
    wide = sum(each.width * 2**bits > 1 for each in found)
    if wide:
        return f"{wide} of {len(found)} enclosures are wider than 2^-{bits}"
    if relative_width is not None:
        wide = sum(each.width > relative_width * each.lower for each in found)
        if wide:
            share = f"{float(relative_width):g}"
            return f"{wide} of {len(found)} enclosures are wider than {share} times their number"
    return None


def check_row(program: Program, row: InputRow) -> None:
    """Check that a row gives every input cell a value of its domain.

    Raises:
        UserError: If it does not.
    """
    if len(row) != len(program.inputs):
        raise UserError(f"the program has {len(program.inputs)} input cells, got {len(row)} values")
    for cell, value in zip(program.inputs, row, strict=True):
        if value not in cell.domain:
            raise UserError(
                f"{value} is not in the domain of '{cell.name}'",
                f"allowed: {row_text(cell.domain)}",
            )
