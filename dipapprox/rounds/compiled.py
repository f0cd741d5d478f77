"""Points and steps as an automaton with Laplace noise, and what is lost on the way.

A step is a transition; a sample that guards compare is put into the automaton's variables. What an
automaton has no words for is written with what it has:

- *offsets*: `r >= rT + 1` is `r' >= rT'` for r' = r, rT' = rT + 1. Comparisons have no offsets if
  some number, a potential, can be added to every sample and stored value so that all of them fit;
- *numbers*: a number c that samples are compared with is the sample of an initial step without
  input that shows it. A shown sample is shifted by 0, as a number is, and that costs nothing; given
  its value, the rest of the run is the program's. Theorems A and B depend on the orders of values
  only, so they give the same budget. Of several numbers that one sample may meet, each is drawn
  above the one before;
- *steps that draw nothing*, and what is published besides a sample: a step of its own, with noise
  that nothing compares;
- *the rest of the output* once the program has ended: a step that publishes it again and again;
- *integer noise*: guards are `>=` and `<` between integers. A cycle of such demands contains a
  strict one, from an earlier to a later sample, and then neither integers nor reals satisfy it; if
  there is no cycle both do. Between two numbers there may be reals but no integers: where a sample
  may meet several, some runs of the automaton are none of the program. Shifts of cheapest cost are
  integers (`automata.runs`), and the argument for lower bounds in `rays` holds for integer noise,
  too.

An upper bound for the automaton is always one for the program. A lower bound is one if each step
has an input of its own, adjacent inputs are all those of linf without bounds (`losses` says what is
missing of both), and what is published tells which steps were taken (`automata.runs`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from fractions import Fraction
from itertools import combinations
from math import floor, lcm

from dipapprox.automata.model import Automaton, ControlState, OutputSample, Transition, check
from dipapprox.automata.runs import Seen, tells_steps, with_numbers
from dipapprox.data_classes import Record, field, replace
from dipapprox.language import core
from dipapprox.language.dipa import AutomatonNoise
from dipapprox.linear.form import LinearForm
from dipapprox.rounds.exploration import explore
from dipapprox.rounds.paths import Atom, Point, Step, Steps, refusal
from dipapprox.semantics.real_inputs import are_bounded, bounds_of

SILENT = "(nothing)"  # what a step shows that publishes nothing; no value of a program has brackets


class Words(Record):
    """What a transition is in the program: a draw, how it compared, what was published, if any."""

    line: int | None = None
    statement: str = ""
    guard: str = ""
    shown: str = ""


class Compiled(Record):
    """An automaton that a program is."""

    automaton: Automaton  # with radius 1 and inputs as they are drawn
    words: tuple[Words, ...] = field(repr=False)  # for each of its transitions
    seen: tuple[Seen, ...] = field(repr=False)  # what each of them publishes
    factor: Fraction  # what its budgets are multiplied by: how much a mean may change
    # Why a lower bound for the automaton is none for the program; empty if it is.
    losses: tuple[str, ...]
    numbers: int  # initial steps that stand for numbers
    integers: bool  # whether inputs are integers, as noise is
    # Whether what is published tells steps; if not, a lower bound of the automaton is one of the
    # program only if its run is told by itself (`automata.runs`).
    tells: bool

    @property
    def is_one_way(self) -> bool:
        """Whether inputs change in one direction only."""
        return set(self.automaton.changes) != {1, -1}

    @property
    def is_plain(self) -> bool:
        """Whether samples and inputs are those of the automaton."""
        return not (self.numbers or self.integers or self.is_one_way) and self.factor == 1


def compile_program(program: core.Program) -> Compiled:
    """Compile a program with rounds; SourceError where no theorem speaks of it, or LimitReached."""
    steps = explore(program)
    radius, losses = _changes(program, steps)
    return _Compiler(program, steps).run(radius, _interval(program, steps), losses)


def _interval(program: core.Program, steps: Steps) -> tuple[int, ...]:
    """Return what means may change by, from the run that is likelier to the other one.

    The automaton's first run is the one that is less likely, that of the second inputs of a pair.
    """
    adjacency = program.adjacency
    if isinstance(adjacency, core.Within) and not any(n.reads < 0 for n in steps.noises):
        match adjacency.norm:
            case core.Norm.INCREASING:
                return (0, -1)
            case core.Norm.DECREASING:
                return (0, 1)
    return (1, -1)


def _changes(program: core.Program, steps: Steps) -> tuple[Fraction, list[str]]:
    """Return how much a mean may change, and what is wrong with lower bounds."""
    adjacency, losses = program.adjacency, list[str]()
    if not isinstance(adjacency, core.Within) or adjacency.norm is core.Norm.L0:
        message = "adjacent inputs may differ by any amount: then no noise of this kind is enough"
        hint = "write 'adjacent linf 1'"
        raise refusal(message, program.inputs[0].span if program.inputs else None, hint)
    if adjacency.norm is not core.Norm.LINF and _interval(program, steps) == (1, -1):
        losses.append(f"adjacency {adjacency.norm.value} is bounded by linf")
    if are_bounded(program):
        losses.append("inputs lie between bounds")
    integers = any(noise.is_integer for noise in steps.noises)
    reach = {cell.name: _reach(cell, adjacency.radius, integers) for cell in program.inputs}
    factors = {
        abs(noise.reads) * reach[noise.input.rpartition(" ")[0]]
        for noise in steps.noises
        if noise.reads and noise.input is not None
    }
    if len(factors) > 1:
        losses.append("inputs have different factors")
    if steps.shares is not None:
        line = "" if steps.shares.span is None else f"line {steps.shares.span.line}: "
        losses.append(f"{line}an input is read by several samples")
    return max(factors, default=Fraction(1)), losses


def _reach(cell: core.Cell, radius: Fraction, integers: bool) -> Fraction:
    """Return how much an input may change: the radius, or what its bounds leave of it."""
    if integers:
        radius = Fraction(floor(radius))
    bounds = bounds_of(cell.domain, integers)
    if bounds is None:
        return radius
    low, high = bounds
    if high < low:
        message = f"the noise is of integers, and none lies between the bounds of '{cell.name}'"
        raise refusal(message, cell.span)
    return min(radius, high - low)


class _Offsets:
    """Potentials, one line for everything that is compared; a union-find with distances."""

    def __init__(self) -> None:
        self._parents: dict[Hashable, tuple[Hashable, Fraction]] = {}

    def place(self, node: Hashable) -> tuple[Hashable, Fraction]:
        """Return the line of a node and its potential there."""
        potential = Fraction(0)
        while node in self._parents:
            node, step = self._parents[node]
            potential += step
        return node, potential

    def relate(self, first: Hashable, second: Hashable, distance: Fraction) -> bool:
        """Demand that `second` lies `distance` above `first`; False if it is known not to."""
        line, low = self.place(first)
        other, high = self.place(second)
        if line == other:
            return high == low + distance
        self._parents[other] = line, low + distance - high
        return True


class _Compiler:
    def __init__(self, program: core.Program, steps: Steps) -> None:
        self._program = program
        self._steps = steps
        self._offsets = _Offsets()
        self._rates = [noise.rate for noise in steps.noises]
        self._idle = Fraction(1, lcm(*(rate.denominator for rate in self._rates)))
        self._states: list[ControlState] = []
        self._transitions: list[Transition] = []
        self._words: list[Words] = []
        self._seen: list[Seen] = []
        self._variables = list(steps.places)

    def run(self, factor: Fraction, changes: tuple[int, ...], losses: list[str]) -> Compiled:
        steps = _merged(self._steps.steps)
        integers = any(noise.is_integer for noise in self._steps.noises)
        self._relate(steps)
        numbers = self._numbers(steps)
        first = len(numbers)
        self._draw_numbers(numbers)
        for number, point in enumerate(self._steps.points):
            self._states.append(self._state(number, point))
        end = self._end()
        for step in steps:
            self._add(step, first, end, numbers)
        lines = [line for line, _ in numbers]
        if integers and len(lines) > len(set(lines)):
            losses = [*losses, "integers are compared with several numbers"]
        automaton = Automaton(
            distinct(self._variables), tuple(self._states), tuple(self._transitions), changes
        )
        # What `automata.validity` demands of steps that read an input.
        reading = [replace(s, reads=s.reads or s.compared is not None) for s in self._states]
        check(replace(automaton, states=tuple(reading)))
        seen = with_numbers(self._seen) if integers else self._seen
        # Words of the automaton tell numbers that are published from noise.
        tells = seen == self._seen and tells_steps(automaton, seen)
        return Compiled(
            automaton, tuple(self._words), tuple(seen), factor, tuple(losses), first,
            integers, tells,
        )  # fmt: skip

    # --- samples on lines ---------------------------------------------------------------------

    def _draw(self, number: int) -> core.Draw | None:
        return self._steps.noises[number].statement

    def _relate(self, steps: Iterable[Step]) -> None:
        """Find the potentials of samples and of stored values."""
        for step in steps:
            site = ("site", self._site(step.source))
            for place in step.stored:
                self._offsets.relate(site, ("place", place), Fraction(0))
        for step in steps:
            site = ("site", self._site(step.source))
            for atom in step.guard:
                if atom.stored is not None and not self._offsets.relate(
                    site, ("place", atom.stored), atom.number
                ):
                    draw = self._draw(step.source)
                    name = self._steps.places[atom.stored - 1]
                    message = f"this sample meets '{name}' with different offsets"
                    hint = "with any number of rounds a comparison has one offset"
                    raise refusal(message, None if draw is None else draw.span, hint)

    def _site(self, number: int) -> object:
        draw = self._draw(number)
        return ("tick", number) if draw is None else draw.site

    def _numbers(self, steps: Iterable[Step]) -> dict[tuple[object, Fraction], int]:
        """Give every number on a line a variable: those of one line in ascending order."""
        found = dict[tuple[object, Fraction], str]()
        for step in steps:
            line, potential = self._offsets.place(("site", self._site(step.source)))
            for atom in step.guard:
                if atom.stored is None:
                    found.setdefault((line, atom.number + potential), str(atom.number))
        lines = list(dict.fromkeys(line for line, _ in found))
        ordered = sorted(found, key=lambda each: (lines.index(each[0]), each[1]))
        numbers = {each: len(self._variables) + k for k, each in enumerate(ordered)}
        self._variables += [found[each] for each in ordered]
        return numbers

    def _draw_numbers(self, numbers: dict[tuple[object, Fraction], int]) -> None:
        before: tuple[object, int] | None = None
        for count, ((line, _), variable) in enumerate(numbers.items()):
            name = f"number {self._variables[variable]}"
            self._states.append(ControlState(name, False, AutomatonNoise(self._idle)))
            above = 1 << before[1] if before is not None and before[0] == line else 0
            step = Transition(count, above, 0, count + 1, OutputSample.COMPARED, 1 << variable)
            self._note(step, Words(), ())
            before = line, variable

    # --- states and transitions ---------------------------------------------------------------

    def _state(self, number: int, point: Point) -> ControlState:
        noise = self._steps.noises[number]
        draw = noise.statement
        known = [
            f"{name} = {value if isinstance(value, str) else value.constant}"
            for name, value in point.path.values.items()
            if not (isinstance(value, LinearForm) and value.terms) and not name.startswith("out[")
        ]
        line = "a round" if draw is None or draw.span is None else f"line {draw.span.line}"
        name = ", ".join([line, *known])
        if draw is None:
            return ControlState(name, False, AutomatonNoise(self._idle))
        _, potential = self._offsets.place(("site", draw.site))
        compared = AutomatonNoise(noise.rate, noise.mean + potential)
        fresh = {s.shown.fresh for s in self._steps.steps if s.source == number} - {None}
        return ControlState(
            name, noise.reads != 0, compared, next(iter(fresh), None), span=draw.span
        )

    def _end(self) -> int:
        """Add the state after the end, and what it goes on publishing; return its number."""
        rounds = self._program.rounds
        end = len(self._states)
        padding = None if rounds is None else rounds.padding
        if padding is None:
            self._states.append(ControlState("the end", False, None))
            return end
        self._states.append(ControlState("the end", False, AutomatonNoise(self._idle)))
        symbols = tuple(map(str, padding))
        text = ", ".join(symbols) or SILENT
        self._note(Transition(end, 0, 0, end, text, 0), Words(shown=text), symbols)
        return end

    def _add(
        self, step: Step, first: int, end: int, numbers: dict[tuple[object, Fraction], int]
    ) -> None:
        line, potential = self._offsets.place(("site", self._site(step.source)))
        above = below = 0
        for atom, outcome in step.guard.items():
            if atom.stored is None:
                bit = 1 << numbers[line, atom.number + potential]
            else:
                bit = 1 << (atom.stored - 1)
            above, below = (above | bit, below) if outcome else (above, below | bit)
        if above & below:
            return  # two names for one number: it is not above and below
        target = end if step.target is None else first + step.target
        stored = sum(1 << (place - 1) for place in step.stored)
        draw = self._draw(step.source)
        sample = OutputSample.FRESH if step.shown.fresh else None
        sample = OutputSample.COMPARED if step.shown.sample else sample
        symbols = ", ".join(step.shown.symbols)
        name = "" if draw is None else _target_text(draw)
        shown = "a fresh sample" if step.shown.fresh else name if step.shown.sample else ""
        words = Words(
            None if draw is None or draw.span is None else draw.span.line,
            "" if draw is None else _draw_text(draw),
            " and ".join(
                f"{name} {'>=' if outcome else '<'} {_atom_text(atom, self._steps.places)}"
                for atom, outcome in step.guard.items()
            ),
            ", ".join(each for each in (shown, symbols) if each),
        )
        if sample is not None and symbols:
            # Both are seen: the symbol by a step of its own.
            between = len(self._states)
            self._states.append(
                ControlState(f"after {words.statement}", False, AutomatonNoise(self._idle))
            )
            after = Transition(between, 0, 0, target, symbols, 0)
            self._note(after, Words(shown=symbols), step.shown.symbols)
            target = between
        output = sample or symbols or SILENT
        span = None if draw is None else draw.span
        made = Transition(first + step.source, above, below, target, output, stored, span=span)
        self._note(made, words, (None,) if sample is not None else step.shown.symbols)

    def _note(self, transition: Transition, words: Words, seen: Seen) -> None:
        self._transitions.append(transition)
        self._words.append(words)
        self._seen.append(seen)


def distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Return names with numbers where they come again: a, b, a → a, b, a #2."""
    found = dict[str, int]()
    for name in names:
        number = 1
        while (numbered := name if number == 1 else f"{name} #{number}") in found:
            number += 1
        found[numbered] = number
    return tuple(found)


def _merged(steps: Iterable[Step]) -> list[Step]:
    """Drop comparisons that make no difference: both outcomes store, publish and go on alike."""
    groups: dict[object, list[Step]] = {}
    for step in steps:
        groups.setdefault((step.source, step.target, step.shown, step.stored), []).append(step)
    found = []
    for group in groups.values():
        guards = [dict(step.guard) for step in group]
        while _merge_two(guards):
            pass
        found += [replace(group[0], guard=guard) for guard in guards]
    return found


def _merge_two(guards: list[dict[Atom, bool]]) -> bool:
    for one, other in combinations(guards, 2):
        if one.keys() == other.keys():
            different = [atom for atom in one if one[atom] != other[atom]]
            if len(different) == 1:
                guards.remove(other)
                del one[different[0]]
                return True
    return False


# --- words ----------------------------------------------------------------------------------------


def _target_text(draw: core.Draw) -> str:
    target = draw.target
    if isinstance(target, core.Element):
        return f"{target.array}[…]"
    return "the sample" if target.name == core.PUBLISHED else target.name.partition("#")[0]


def _draw_text(draw: core.Draw) -> str:
    text = draw.family.name if draw.span is None else draw.span.text
    if draw.target == core.Variable(core.PUBLISHED):
        return f"publish {text}"
    return f"{_target_text(draw)} <- {text}"


def _atom_text(atom: Atom, places: list[str]) -> str:
    if atom.stored is None:
        return str(atom.number)
    name = places[atom.stored - 1]
    if not atom.number:
        return name
    return f"{name} {'+' if atom.number > 0 else '-'} {abs(atom.number)}"
