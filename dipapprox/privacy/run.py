"""What questions about a program say beside what they ask, and answers beside what they find.

A `Setting` goes in, with `Options` that are complete: engine, precision, budgets. A `Run`, the
header, comes out with the answer, and witnesses that show its ends.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from fractions import Fraction
from typing import Generic, TypeVar, get_type_hints

from dipapprox.arithmetic.enclosure import UNIT, Enclosure
from dipapprox.arithmetic.extended import BY_ENCLOSURES, Extended, GivenBy
from dipapprox.data_classes import Record, field, replace
from dipapprox.errors import UserError, shorten
from dipapprox.integrals.strategy import Strategy
from dipapprox.language.core import Cell, Input, Program
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import Limits, Progress, current, silent
from dipapprox.numerics.methods import Tier
from dipapprox.pairs.adjacency import count_selected, select_pairs
from dipapprox.pairs.divergence import Factor, difference_over
from dipapprox.pairs.selections import OrderedPairs, Pair, PairSelection
from dipapprox.privacy import charts
from dipapprox.privacy.description import (
    Description,
    End,
    Fact,
    Table,
    Tone,
    count,
    ends_of,
    known,
    parameter_fields,
    parameters_text,
    seconds_text,
)
from dipapprox.privacy.notation import Published, ends, pair_fields, valuation_text
from dipapprox.privacy.result import Result
from dipapprox.privacy.scope import AnswerScope, scope_of

_MOST_ROWS = 20  # of a witness, in its table
_MOST_OUTPUTS = 8  # of a witness, in a line


class WitnessRow(Record):
    """One output of a witness with its probability under both inputs."""

    output: tuple[Published, ...]
    probability: Enclosure
    adjacent_probability: Enclosure


def difference_of(rows: Sequence[WitnessRow], factor: Factor) -> Enclosure:
    """Enclose Pr[u] - factor Pr[u'] over some outputs."""
    first = [row.probability for row in rows]
    second = [row.adjacent_probability for row in rows]
    return difference_over(range(len(rows)), first, second, factor)


def pair_table(
    title: str, pair: tuple[str, str], cells: tuple[Cell, ...], rows: Sequence[WitnessRow]
) -> Table:
    """Lay out the first outputs of a witness, with their probabilities for its two inputs."""
    lines = [
        (
            valuation_text(cells, row.output),
            _enclosed(row.probability),
            _enclosed(row.adjacent_probability),
        )
        for row in rows[:_MOST_ROWS]
    ]
    if len(rows) > _MOST_ROWS:
        lines.append((f"… {len(rows) - _MOST_ROWS} more", "", ""))
    columns = "output", f"Pr[·] for input {pair[0]}", f"Pr[·] for adjacent {pair[1]}"
    return Table(title, columns, tuple(lines))


def _enclosed(probability: Enclosure) -> str:
    return "not enclosed" if probability == UNIT else str(probability)


class DistinguishedPair(Record):
    input: Input
    adjacent: Input
    rows: tuple[WitnessRow, ...]

    def pair_text(self, inputs: tuple[Cell, ...]) -> tuple[str, str]:
        return valuation_text(inputs, self.input), valuation_text(inputs, self.adjacent)

    def fields(self, inputs: tuple[Cell, ...], output_cells: tuple[Cell, ...]) -> dict[str, object]:
        outputs = [row.output for row in self.rows]
        return pair_fields(inputs, (self.input, self.adjacent), output_cells, outputs)


class Witness(DistinguishedPair):
    """A pair of inputs and the output set that tells them apart.

    Pr[P(input) in S] - e^eps_prv Pr[P(adjacent) in S] lies in `delta_enclosure`, S being the
    outputs of `rows`; for Not_DP its lower end exceeds the claimed delta, unless there is an
    `argument`, which says why the difference exceeds it all the same.

    Attributes:
        at_least: None where all of S is in `rows`. Else S is the set of all outputs that are more
            than e^eps_prv times as likely under `input`, too many to list: at least so many, of
            which `rows` are examples; there are none where a limit came before them.
    """

    delta_enclosure: Enclosure
    argument: str | None = None
    at_least: int | None = None

    @classmethod
    def of(cls, pair: Pair, rows: Iterable[WitnessRow], factor: Factor) -> Witness:
        """Return outputs that tell a pair apart, with the difference that they have."""
        shown = tuple(rows)
        return cls(*pair, shown, difference_of(shown, factor))

    def outputs_text(self, cells: tuple[Cell, ...]) -> str:
        """Write the first of its outputs for people."""
        shown = [valuation_text(cells, row.output) for row in self.rows]
        more = f"; … {len(shown) - _MOST_OUTPUTS} more" if len(shown) > _MOST_OUTPUTS else ""
        return "; ".join(shown[:_MOST_OUTPUTS]) + more + self.others()

    def others(self) -> str:
        """Say after the listed outputs that they are examples, if they are."""
        if self.at_least is None:
            return ""
        those = "outputs that are more than e^ε_prv times as likely"
        return f", of at least {self.at_least} {those}" if self.rows else f"all {those}"

    def examples(self, name: str) -> tuple[str, ...]:
        """Say below its table what the set is, if that does not list it."""
        listed = "the output above" if self.rows else ""
        return () if self.at_least is None else (f"{name}: {listed}{self.others()}",)

    def fields(self, inputs: tuple[Cell, ...], output_cells: tuple[Cell, ...]) -> dict[str, object]:
        """Return it as plain data: the field "witness" of every answer."""
        size = {} if self.at_least is None else {"outputs_at_least": self.at_least}
        argument = {} if self.argument is None else {"argument": self.argument}
        delta = {"delta_enclosure": ends(self.delta_enclosure)}
        return {**super().fields(inputs, output_cells), **size, **delta, **argument}


class Replayed(Record):
    """That the kernel has replayed a proof, or several."""

    steps: int
    seconds: float
    bits: int  # how exactly it encloses runs; 0 for closed forms
    proof: object = field(default=None, repr=False, compare=False)

    def __add__(self, other: Replayed) -> Replayed:
        bits = max(self.bits, other.bits)
        return Replayed(self.steps + other.steps, self.seconds + other.seconds, bits)

    def fields(self) -> dict[str, object]:
        return {"steps": self.steps, "seconds": round(self.seconds, 6)}


def proved_fields(replayed: Replayed | None) -> dict[str, object]:
    """Return the field "proved" of an answer's `to_dict`, if it has one."""
    return {} if replayed is None else {"proved": replayed.fields()}


def proved_fact(replayed: Replayed | None) -> tuple[str, str | None]:
    if replayed is None:
        return "proved", None
    spent = f"{count(replayed.steps, 'step')}, {seconds_text(replayed.seconds)}"
    return "proved", f"replayed by the kernel: {spent}"


LARGEST_PRECISION = 20_000  # in bits. Beyond, even closed forms take minutes
FIRST_PRECISION = 40  # bits of the first attempt: about 12 decimal places
LAST_PRECISION = 320  # bits of the last attempt: about 96 decimal places
MOST_JOBS = 256  # processes; more only take memory


class Engine(Enum):
    """Which engine encloses probabilities; the value is the word on the command line.

    AUTO: elimination, and nested for what it does not enclose; nested alone if a strategy asks for
    a certain shape of integrals. Deltas that enclosures do not tell from the claimed one are
    compared by closed forms, where there are some.
    EXACT: closed forms alone: Laplace, one-sided and discrete noise.
    """

    AUTO = "auto"
    ELIMINATION = "elimination"
    NESTED = "nested"
    EXACT = "exact"


class Options(Record):
    """Everything about a run that does not change what is asked.

    Attributes:
        tier: Which algebras elimination may use.
        strategy: How nested integrals are ordered and pulled apart.
        precision: Bits asked for at the first attempt.
        max_precision: Bits of the last attempt; at least `precision` is used.
        merge: Whether final states are merged at join points.
        jobs: Most processes. More than one are started for large work only; then a script that
            calls this library needs the usual `if __name__ == "__main__":`.
        proved: Whether `verify`, `decide`, `profile` and `calibrate` answer only what the kernel
            has replayed a proof of.

    Raises:
        UserError: If a number is out of range, or engine, tier and strategy do not fit.
    """

    engine: Engine = Engine.AUTO
    tier: Tier = Tier.AUTO
    strategy: Strategy = Strategy.LEAST_NESTING
    precision: int = FIRST_PRECISION
    max_precision: int = LAST_PRECISION
    merge: bool = True
    jobs: int = 1
    proved: bool = False
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(Options).items():  # Python programs set them
            given: object = getattr(self, name)
            if type(given) is not kind:
                said = "a whole number" if kind is int else f"of the type {kind.__name__}"
                members = ", ".join(map(str, kind)) if issubclass(kind, Enum) else ""
                hint = f"there are {members}" if members else ""
                raise UserError(f"{name} must be {said}, got {shorten(repr(given))}", hint)
        for name, bits in (("precision", self.precision), ("max_precision", self.max_precision)):
            if not 2 <= bits <= LARGEST_PRECISION:
                raise UserError(f"{name} must be in [2, {LARGEST_PRECISION}] bits, got {bits}")
        if not 1 <= self.jobs <= MOST_JOBS:
            raise UserError(f"jobs must be in [1, {MOST_JOBS}], got {self.jobs}")
        shaped = self.strategy is not Strategy.LEAST_NESTING
        if shaped and self.engine in (Engine.ELIMINATION, Engine.EXACT):
            raise UserError("an optimizer orders the integrals of the engine 'nested' only")
        if self.tier is not Tier.AUTO and (shaped or self.engine in (Engine.NESTED, Engine.EXACT)):
            name = "nested" if shaped else self.engine.value
            raise UserError(
                f"a tier is an algebra of the engine 'elimination'; '{name}' has none to choose"
            )

    @property
    def compares_exactly(self) -> bool:
        """Whether closed forms may decide what enclosures do not.

        Who asks for one engine, tier or shape of integrals gets what that tells.
        """
        if self.engine is Engine.EXACT:
            return True
        plain = self.tier is Tier.AUTO and self.strategy is Strategy.LEAST_NESTING
        return self.engine is Engine.AUTO and plain


class Run(Record):
    program: Program = field(repr=False)
    scope: AnswerScope
    pairs: int | None  # ordered pairs looked at; None if they are too many to count
    outputs: int
    final_states: int
    precision: int  # most bits that were asked for and needed; 0 where all is exact
    engine: str
    seconds: float  # from parsed arguments to the answer
    reason: str | None  # why the answer is Unknown, or wider than asked for; None otherwise
    by: GivenBy = BY_ENCLOSURES  # the methods that gave the ends of the δ that is told


class Setting(Record):
    """A program with the pairs of inputs that are asked about.

    All who answer questions raise `UserError` if the adjacency does not suit the inputs or a choice
    is no probability distribution, and `BrokenInvariant` if two methods contradict each other.
    """

    program: Program  # closed
    selection: PairSelection
    options: Options  # how to compute; the clock of their limits runs for the whole answer
    progress: Progress = silent

    @property
    def is_real(self) -> bool:
        """Whether some inputs are any real numbers of their ranges."""
        return has_real_inputs(self.program)

    def count(self) -> int | None:
        """Return how many pairs there are; None if they are infinitely many, or not counted."""
        return count_selected(self.program, self.selection)

    def pairs(self) -> Iterator[Pair]:
        return select_pairs(self.program, self.selection)

    def about(self, *pairs: Pair) -> Setting:
        """Return the same for single pairs, silently."""
        return replace(self, selection=OrderedPairs(pairs), progress=silent)

    def header(
        self,
        *,
        pairs: int | None = 0,
        sizes: tuple[int, int] = (0, 0),
        precision: int,
        engine: str,
        reason: str | None = None,
        by: GivenBy = BY_ENCLOSURES,
    ) -> Run:
        """Return the header of an answer that is finished now; see `Run`."""
        scope, seconds = scope_of(self.program, self.selection), current().elapsed()
        return Run(self.program, scope, pairs, *sizes, precision, engine, seconds, reason, by)


RAYS = "rays"  # who gives what inputs further and further apart lose, and none attains
BY_BUDGET = "budget"  # the engine of verdicts that a budget for every eps proves
_BEYOND = (BY_BUDGET, "coupling", "exact", "processing")
"""Words in the name of an engine that stand for more than enclosures."""


T = TypeVar("T")


class _OfRun(Generic[T]):
    """An attribute of an answer that its header has."""

    def __init__(self, get: Callable[[Run], T]) -> None:
        self._get = get

    def __get__(self, result: RunResult, owner: type | None = None) -> T:
        return self._get(result.run)


class RunResult(Result):
    """An answer about a program, with a header whose fields are its own.

    But for the number of outputs, `run.outputs`: answers have outputs of their own.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def run(self) -> Run:
        """What was looked at, and how."""

    replayed: Replayed | None = None
    """The proof that the kernel has replayed, of answers that may have one."""

    program = _OfRun(lambda run: run.program.name)
    parameters = _OfRun(lambda run: run.program.parameters)
    inputs = _OfRun(lambda run: run.program.inputs)
    output_cells = _OfRun(lambda run: run.program.published)
    scope = _OfRun(lambda run: run.scope)
    precision = _OfRun(lambda run: run.precision)
    engine = _OfRun(lambda run: run.engine)
    seconds = _OfRun(lambda run: run.seconds)
    reason = _OfRun(lambda run: run.reason)
    pairs = _OfRun(lambda run: run.pairs)
    final_states = _OfRun(lambda run: run.final_states)

    def header(self) -> dict[str, object]:
        """Return the fields that the answer's JSON object begins with."""
        return {
            "program": self.program,
            "params": parameter_fields(self.parameters),
            **self.scope.fields(),
        }

    def about(self) -> tuple[str, ...]:
        """Say in lines what a picture is about, and what is fixed in it."""
        lines = (*(value for _, value in self.scope.rows()), parameters_text(self.parameters))
        return tuple(filter(None, lines))

    def extent(self) -> dict[str, object]:
        """Return the fields that say how far it went, and why not further."""
        return {
            "reason": self.reason,
            "pairs": self.pairs,
            "outputs": self.run.outputs,
            "final_states": self.final_states,
        }

    def footer(self) -> dict[str, object]:
        """Return the fields that it ends with: what is proved of it, and how it was computed."""
        precision = {"precision": self.precision} if self.precision else {}
        proved = proved_fields(self.replayed)
        return {**proved, **precision, "engine": self.engine, "seconds": round(self.seconds, 6)}

    def described(
        self,
        headline: str,
        *,
        label: str,
        tone: Tone = Tone.PLAIN,
        asked: tuple[Fact, ...] = (),
        found: Iterable[tuple[str, str | None]] = (),
        below: tuple[Table | str | Description, ...] = (),
        computed: str = "",
    ) -> Description:
        """Describe an answer: what was asked, about what, what was found, and how; facts without a
        value are left out."""
        bits = (f"{self.precision} bits",) if self.precision else ()
        how = [computed, self.engine, *bits, seconds_text(self.seconds)]
        facts = known(
            *asked,
            *self.scope.rows(),
            ("parameters", parameters_text(self.parameters)),
            *found,
            proved_fact(self.replayed),
            ("computed", ", ".join(filter(None, how))),
        )
        return Description(headline, label, tone, facts, below)

    def _witness_charts(
        self, title: str, witness: DistinguishedPair | None
    ) -> tuple[charts.Chart, ...]:
        if witness is None or not witness.rows:
            return ()
        first, second = witness.pair_text(self.inputs)
        groups = tuple(
            (
                valuation_text(self.output_cells, row.output),
                (row.probability, row.adjacent_probability),
            )
            for row in witness.rows
        )
        return (charts.Bars(title, (f"input {first}", f"adjacent {second}"), groups),)

    def _witness_fields(self, witness: Witness | None) -> dict[str, object] | None:
        return None if witness is None else witness.fields(self.inputs, self.output_cells)

    def _ends(
        self,
        of: str,
        told: Extended | Enclosure | None,
        witness: Witness | None,
        trivial: Fraction | None = None,
    ) -> tuple[End, ...]:
        """Return who gave the ends of a number, of an `Enclosure` as the header says, the lower one
        shown by a witness; `trivial` is an upper end that says nothing."""
        pair, outputs = None, ""
        if witness is not None:
            pair = witness.pair_text(self.inputs)
            outputs = witness.outputs_text(self.output_cells)
        if isinstance(told, Enclosure):
            told = Extended(told.lower, told.upper, *self.run.by)
        words = [word for word in self.engine.split(" + ") if word not in _BEYOND]
        return ends_of(of, told, " + ".join(words), pair, outputs, trivial)
