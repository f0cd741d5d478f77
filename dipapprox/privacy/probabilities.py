"""The output distributions of a program for one input, or two, enclosed.

Of two, for accountants that compose mechanisms: dp_accounting composes privacy loss distributions;
it makes one from two probability vectors
(`privacy_loss_distribution.from_two_probability_mass_functions`), which `to_pld` returns.
Enclosures become doubles there: what an accountant makes of them is not proved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import ceil
from types import MappingProxyType

from dipapprox.arithmetic.enclosure import UNIT, Enclosure, NotEnclosed
from dipapprox.arithmetic.rounding import sound_arithmetic
from dipapprox.data_classes import Record, replace
from dipapprox.digits import brief_text, exact_text
from dipapprox.errors import EarlyEnd, UserError
from dipapprox.events.event import Interval
from dipapprox.events.instantiate import Instantiator
from dipapprox.language.core import Cell, Input, Program
from dipapprox.language.domains import AllReals, check_input
from dipapprox.limits import Limits, current, limited, rare_collections
from dipapprox.numerics.powers import logarithm
from dipapprox.numerics.probability import OutputProbabilities, tightened
from dipapprox.pairs.divergence import Probabilities
from dipapprox.pairs.products.source import MOST_LISTED, ProductProgram, execute_parts
from dipapprox.privacy import charts as pictures
from dipapprox.privacy import run as runs
from dipapprox.privacy.description import Description, Table, Tone
from dipapprox.privacy.masses import Histogram, Masses, OutputProbability, enclose_masses
from dipapprox.privacy.notation import (
    Published,
    ends,
    finite,
    plain_value,
    valuation,
    valuation_text,
)
from dipapprox.privacy.result import Result
from dipapprox.privacy.rounded_scales import widened
from dipapprox.privacy.scope import scope_of_input
from dipapprox.privacy.subjects import open_probabilities, open_product_source
from dipapprox.semantics.execution import execute
from dipapprox.semantics.state import FinalStates

_ANYWHERE: Mapping[str, Interval] = MappingProxyType({})


class OutputDistribution(Record, runs.RunResult):
    """All outputs that some final state has, in order of first appearance.

    Attributes:
        run: The program, and how far it went: `precision` are the bits that were asked for in the
            last attempt that came to an end; `reason` says why the probabilities are not enclosed
            as narrowly as asked. Without any enclosure they are in [0, 1]; `outputs` is empty if
            the program was not even executed to its end.
    """

    run: runs.Run
    eps: Fraction
    input: Input
    outputs: tuple[OutputProbability, ...]
    interrupted: bool = False
    histograms: tuple[Histogram, ...] = ()

    @property
    def real_outputs(self) -> int:
        """How many of the output cells, at the end, hold real numbers."""
        return sum(isinstance(cell.domain, AllReals) for cell in self.output_cells)

    def widened(self, error: Fraction) -> OutputDistribution:
        """Return what holds of a program whose law is at most `error` away."""
        if not error:
            return self
        outputs = tuple(
            replace(each, probability=widened(each.probability, error)) for each in self.outputs
        )
        return replace(self, outputs=outputs, histograms=())

    def to_dict(self) -> dict[str, object]:
        return {
            **self.header(),
            "eps": exact_text(self.eps),
            "input": valuation(self.inputs, self.input),
            "outputs": [
                {
                    "output": valuation(self.output_cells, each.output),
                    "probability": ends(each.probability),
                    "final_states": each.final_states,
                }
                for each in self.outputs
            ],
            "reason": self.reason,
            **self.footer(),
        }

    def charts(self) -> tuple[pictures.Chart, ...]:
        if not self.outputs:
            return ()
        groups = tuple(
            (valuation_text(self.output_cells, each.output), (each.probability,))
            for each in self.outputs
        )
        input = valuation_text(self.inputs, self.input)
        title = f"{self.program} at ε = {brief_text(self.eps)}: probabilities of outputs"
        series = f"input {input}" if input else "without inputs"
        return (pictures.Bars(title, (series,), groups, self.about()), *self.densities())

    def densities(self) -> tuple[pictures.Curve, ...]:
        """Return the mean densities of real outputs, drawn, outcome by outcome."""
        if not self.histograms:
            return ()
        finite = self.output_cells[: len(self.output_cells) - self.real_outputs]
        lines = tuple(
            (f"{each.name}{', ' if each.outputs else ''}{valuation_text(finite, each.outputs)}",
             tuple((end, part.density) for part in each.bins for end in (part.lower, part.upper)))
            for each in self.histograms
        )  # fmt: skip
        input = valuation_text(self.inputs, self.input)
        curve = pictures.Curve(
            title=f"{self.program} at ε = {self.eps}{' for ' if input else ''}{input}",
            across="published number (unit of the output)",
            up="density (probability per unit)",
            lines=lines,
            notes=self.about(),
        )
        return (curve,)

    def describe(self) -> Description:
        input = valuation_text(self.inputs, self.input)
        where = f" for {input}" if input else ""
        lines = tuple(
            (
                valuation_text(self.output_cells, each.output),
                str(each.probability),
                str(each.final_states),
            )
            for each in self.outputs
        )
        columns = "output", "probability", "final states"
        title = f"{self.program}{where}, ε = {self.eps}"
        caveat = () if self.scope.caveat is None else (f"caveat: {self.scope.caveat}",)
        table = Table(title, columns, lines, right=(2,))
        return Description("", "", Tone.PLAIN, (), (table, *caveat))


@rare_collections()
@sound_arithmetic()
def output_distribution(
    program: Program,
    eps: Fraction,
    input: Input,
    options: runs.Options,
    relative_width: Fraction | None = None,
    where: Mapping[str, Interval] = _ANYWHERE,
    bins: int = 0,
) -> OutputDistribution:
    """Enclose the probability of every output for one input, as far as the limits allow.

    Args:
        options: `precision` is the absolute width that is asked for.
        relative_width: Each enclosure's width shall also be at most this share of the probability,
            as far as `max_precision` allows; None: however small the probabilities are, the
            absolute width is enough.
        bins: In how many the densities of real outputs are cut; 0: none are computed.

    Raises:
        UserError: If `input` is not in the domains, or what is asked does not suit the outputs.
    """
    check_input(program, input)
    if not program.real_outputs and (where or bins):
        raise UserError("intervals and densities are of real outputs, but the program has none")
    if program.real_outputs and relative_width is not None:
        raise UserError("relative widths are not known for real outputs", "ask for more precision")
    states: FinalStates | None = None
    known: Probabilities | None = None
    found = Masses(options.engine.value, options.precision)
    with EarlyEnd() as end:
        product = None
        if program.real_outputs:
            enclose_masses(found, program, eps, input, options, where, bins)
        elif relative_width is None:
            product = execute_parts(program, options.merge)
        if product is not None:
            _enclose_parts(found, product, eps, input, options)
        elif not program.real_outputs:
            states = execute(program, options.merge, compared=True)
            found.outputs, found.final_states = len(states.outputs), len(states.states)
            source = open_probabilities(states, eps, options)
            found.engine = source.name
            for found.precision, told in _attempts(source, input, relative_width, options):
                found.engine = source.name
                if isinstance(told, NotEnclosed):
                    found.obstacle = told.reason
                else:
                    known = told
    if states is not None:
        with limited(Limits()):  # what is known is told, though a limit ended the search
            found.rows = _outputs(states, eps, input, known)
    probabilities = tuple(row.probability for row in found.rows)
    shortfall = _shortfall(probabilities, options.precision, relative_width, found.precision)
    run = runs.Run(
        program,
        scope_of_input(program, valuation_text(program.inputs, input)),
        0,
        found.outputs,
        found.final_states,
        found.precision,
        found.engine,
        current().elapsed(),
        end.reason or found.obstacle or shortfall,
    )
    return OutputDistribution(run, eps, input, found.rows, end.interrupted, found.histograms)


def _enclose_parts(
    found: Masses, product: ProductProgram, eps: Fraction, input: Input, options: runs.Options
) -> None:
    """Enclose the distribution of independent parts, as far as its outputs can be listed."""
    found.outputs, found.final_states = product.sizes
    source = open_product_source(product, eps, options)
    spare = len(product.parts).bit_length()  # the widths of the factors add up
    (told,) = source.distributions((input,), options.precision + spare)
    found.engine = source.name
    if isinstance(told, NotEnclosed):
        found.obstacle = told.reason
    if found.outputs <= MOST_LISTED:
        counted = [1]
        for states, own in zip(product.states, product.part_inputs(input), strict=True):
            each = _outputs(states, eps, own, None)
            counted = [one * other.final_states for one in counted for other in each]
        known = (UNIT,) * len(counted) if isinstance(told, NotEnclosed) else told
        found.rows = tuple(map(OutputProbability, source.outputs, known, counted))


def _outputs(
    states: FinalStates, eps: Fraction, input: Input, known: Probabilities | None
) -> tuple[OutputProbability, ...]:
    instantiator = Instantiator(states, eps)
    admitted = instantiator.admitted(input, instantiator.numbers(input))
    counts = Counter(instantiator.outline(state).output for state in admitted)
    outputs = states.outputs
    probabilities = known or (UNIT,) * len(outputs)
    return tuple(
        OutputProbability(tuple(output), probability, counts[index])
        for index, (output, probability) in enumerate(zip(outputs, probabilities, strict=True))
    )


def _attempts(
    source: OutputProbabilities,
    input: Input,
    relative_width: Fraction | None,
    options: runs.Options,
) -> Iterator[tuple[int, Probabilities | NotEnclosed]]:
    """Enclose all probabilities, then narrow what is relatively too wide, the largest ones first:
    the most bits asked for so far, and all that is known; an obstacle is the last."""
    # What little precision tells soon is there when the limits end the rest.
    found: Probabilities = ()
    for bits in sorted({min(runs.FIRST_PRECISION, options.precision), options.precision}):
        answer = source.distribution(input, bits)
        yield bits, answer
        if isinstance(answer, NotEnclosed):
            return
        found = answer
    asked = [options.precision] * len(found)
    while relative_width is not None:
        needed = {
            output: min(_bits_for(relative_width, each, asked[output]), options.max_precision)
            for output, each in enumerate(found)
            if each.width > relative_width * each.lower
        }
        needed = {output: bits for output, bits in needed.items() if bits > asked[output]}
        if not needed:
            return
        # Those of similar size go together: they share functions.
        least = min(needed.values())
        outputs = [output for output, bits in needed.items() if bits <= 2 * least]
        bits = max(needed[output] for output in outputs)
        again = source.some(outputs, input, bits)
        if isinstance(again, NotEnclosed):
            yield bits, again
            return
        narrower = list(found)
        for output, each in zip(outputs, again, strict=True):
            narrower[output] = found[output].intersect(
                each, f"{bits} bits", f"{asked[output]} bits", "the probability of an output"
            )
            asked[output] = bits
        found = tightened(tuple(narrower))
        yield max(asked), found


def _bits_for(relative_width: Fraction, found: Enclosure, bits: int) -> int:
    """Return how many bits make an enclosure relatively narrow, as far as it tells.

    A probability p needs an absolute width of relative_width * p. Of what may still be 0 the size
    is unknown: twice the bits tell it, or that it is very small.
    """
    if not found.lower:
        return 2 * bits
    return ceil(1 / (relative_width * found.lower)).bit_length()


def _shortfall(
    found: Probabilities, precision: int, relative_width: Fraction | None, tried: int
) -> str | None:
    """Say why the probabilities are not enclosed as narrowly as asked; None if they are."""
    wide = sum(each.width * 2**precision > 1 for each in found)
    if wide:
        return f"{wide} of {len(found)} enclosures are wider than 2^-{precision}"
    if relative_width is not None:
        wide = sum(each.width > relative_width * each.lower for each in found)
        if wide:
            share = f"{float(relative_width):g}"
            return (
                f"{wide} of {len(found)} enclosures are wider than {share} times their number, "
                f"though {tried} bits were tried"
            )
        hidden = sum(each.lower > 0 and ends(each)[0] == "0" for each in found)
        if hidden:
            return f"{hidden} of {len(found)} probabilities are too small to be written"
    return None


LogProbabilities = dict[tuple[int | str, ...], float]
"""Natural logarithms of probabilities by output; outputs of probability 0 are left out."""

_LOGARITHM_BITS = 60


class PairDistributions(runs.DistinguishedPair, Result):
    """The output distributions of a program for two inputs, output by output."""

    program: str
    eps: Fraction
    inputs: tuple[Cell, ...]
    output_cells: tuple[Cell, ...]

    @property
    def outputs(self) -> tuple[tuple[Published, ...], ...]:
        """Values of the output cells, one tuple an output."""
        return tuple([row.output for row in self.rows])

    @property
    def probabilities(self) -> tuple[Enclosure, ...]:
        """Of each output, for `input`."""
        return tuple([row.probability for row in self.rows])

    @property
    def adjacent_probabilities(self) -> tuple[Enclosure, ...]:
        """Of each output, for `adjacent`."""
        return tuple([row.adjacent_probability for row in self.rows])

    def to_pld(self) -> tuple[LogProbabilities, LogProbabilities]:
        """Return (lower, upper) as dp_accounting takes them.

            lower, upper = pair.to_pld()
            pld = from_two_probability_mass_functions(lower, upper, symmetric=False)
            pld.get_delta_for_epsilon(0.1)   # delta from this pair's first input to its second

        `upper` belongs to the first input, `lower` to the adjacent one; numbers are logarithms of
        midpoints, as doubles.
        """
        lower, upper = LogProbabilities(), LogProbabilities()
        for row in self.rows:
            for found, p in ((lower, row.adjacent_probability), (upper, row.probability)):
                if p.upper:
                    middle = logarithm((p.lower + p.upper) / 2, _LOGARITHM_BITS)
                    found[tuple(map(plain_value, finite(row.output)))] = float(middle.lower)
        return lower, upper

    def to_dict(self) -> dict[str, object]:
        return {
            "program": self.program,
            "eps": str(self.eps),
            "input": valuation(self.inputs, self.input),
            "adjacent": valuation(self.inputs, self.adjacent),
            "outputs": [
                {
                    "output": valuation(self.output_cells, row.output),
                    "probability": ends(row.probability),
                    "adjacent_probability": ends(row.adjacent_probability),
                }
                for row in self.rows
            ],
        }

    def describe(self) -> Description:
        title, pair = f"{self.program}, ε = {self.eps}", self.pair_text(self.inputs)
        table = runs.pair_table(title, pair, self.output_cells, self.rows)
        return Description("", "", Tone.PLAIN, (), (table,))


@sound_arithmetic()
def pair_distributions(
    program: Program, eps: Fraction, input: Input, adjacent: Input, options: runs.Options
) -> PairDistributions | NotEnclosed:
    """Enclose the output distributions of two inputs, which are checked."""
    check_input(program, input)
    check_input(program, adjacent, "adjacent")
    inputs = (input,) if input == adjacent else (input, adjacent)
    states = execute(program, options.merge, compared=True, inputs=inputs)
    source = open_probabilities(states, eps, options)
    first, second = source.distributions((input, adjacent), options.precision)
    if isinstance(first, NotEnclosed):
        return first
    if isinstance(second, NotEnclosed):
        return second
    rows = tuple(map(runs.WitnessRow, map(tuple, states.outputs), first, second))
    about = program.name, eps, program.inputs, program.outputs
    return PairDistributions(input, adjacent, rows, *about)
