"""A program with rounds as a finite graph: from every draw all ways on to the next.

    prelude, round, round, …     samples and inputs are symbols, all else is known
      → points just before a draw: where the program is, and what is still of interest
      → steps: draw, compare the sample with stored values, publish, store it, go on

Where two stored values are compared, or one with a number, the outcome has to be known when the
later of them is stored: all begins anew, and the steps that store it compare it.

Where an input is added to a sample, `q + r` for r <- Lap(0, b), the draw is taken as one around the
input, r = s - q for s <- Lap(q, b), and all begins anew.

There are finitely many points where scalars have finitely many values: values that nothing reads
any more are forgotten, and inputs are numbered anew at every point.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from enum import Enum
from fractions import Fraction
from typing import assert_never

from dipapprox.automata.runs import END
from dipapprox.data_classes import replace
from dipapprox.errors import BrokenInvariant, LimitReached, SourceError
from dipapprox.language import core
from dipapprox.language.cells import statements_in, written_out
from dipapprox.language.dipa import AutomatonNoise
from dipapprox.limits import check_limits, check_states
from dipapprox.linear.form import LinearForm, Symbol
from dipapprox.rounds import paths
from dipapprox.rounds.paths import (
    DRAWN,
    Atom,
    Facts,
    Noise,
    Parted,
    Point,
    RoundLiveness,
    RoundPath,
    Step,
    Steps,
    Wanted,
    samples_in,
)
from dipapprox.semantics import evaluation
from dipapprox.semantics.evaluation import Forms, Frame, PathFault, StoredValue, into

_PUBLISHED = core.Variable(core.PUBLISHED)
_FRESH = -1  # the symbol of a sample that is published at once
MOST_POINTS = 20_000
"""Of a program: scalars that take more and more values make more and more of them."""

MOST_TURNS = 10_000  # of inner loops, from one draw to the next


def explore(program: core.Program) -> Steps:
    """Find all points and steps; SourceError where no theorem speaks of it, or LimitReached."""
    if program.rounds is None:
        raise BrokenInvariant("the program has no rounds")
    exploration = _Exploration(program, program.rounds)
    while True:
        try:
            return exploration.run()
        except _Anew:
            check_limits()
        except PathFault as fault:
            raise SourceError([fault.diagnostic()]) from None


class _Anew(Exception):
    """A draw is taken otherwise: all begins anew."""


class _Stop(Enum):
    DRAW = "the next statement draws"
    ROUND = "a whole round has drawn nothing"
    END = "the program ends"


class _Exploration:
    """Explorations of a program; what earlier ones have found to be needed stays."""

    def __init__(self, program: core.Program, rounds: core.Rounds) -> None:
        program.check_rational_scales()
        self._rounds = rounds
        self._prelude = written_out(program.body)
        self._integers = _integers(self._prelude, self._rounds.body)
        self._forms = Forms()
        self._outputs = {cell.name: cell for cell in program.outputs}
        self._live = RoundLiveness(self._rounds)
        # Draws that are taken as around an input, a variable times a factor.
        self._added: dict[int, tuple[str, Fraction]] = {}
        self._facts: dict[tuple[int, Atom], None] = {}  # comparisons of stored values that matter
        self._places: list[str] = []

    def run(self) -> Steps:
        self._found = Steps(places=self._places)
        self._numbers: dict[Hashable, int] = {}
        self._fresh: dict[int, AutomatonNoise] = {}
        self._source: int | None = None  # the point that paths come from now
        start = into(self._prelude, None)
        here, path, stop = next(self._ways(start, RoundPath(self._integers, False, {}), 0))
        if stop is _Stop.DRAW and not path.shown.symbols:
            self._number_of(self._point(here, path, True))
        else:  # something is published, or the program ends, before anything is drawn
            self._number_of(Point(start, False, RoundPath(self._integers, False, {})))
        for number, point in enumerate(self._found.points):
            check_states(len(self._found.points))
            if len(self._found.points) > MOST_POINTS:
                raise LimitReached(f"the program has more than {MOST_POINTS} states")
            self._steps_from(number, point)
        return self._found

    def _number_of(self, point: Point) -> int:
        key = point.key()
        if key not in self._numbers:
            self._numbers[key] = len(self._found.points)
            self._found.points.append(point)
            self._found.noises.append(self._noise_at(point))
        return self._numbers[key]

    def _steps_from(self, number: int, point: Point) -> None:
        begun, noise, start = point.path, self._found.noises[number], point.here
        if noise.statement is not None and start is not None:
            begun, start = self._drawn(begun, noise.statement), start.after()
        rounds = int(noise.statement is None and begun.in_rounds)
        self._source = number
        try:
            for path, after in self._arrivals(start, begun, rounds):
                check_limits()
                target, stored = None, frozenset[int]()
                if after is not None:
                    target, stored = self._number_of(after), _stored(path, after)
                self._found.steps.append(Step(number, path.guard, target, path.shown, stored))
        except Wanted as wanted:
            draw = noise.statement
            if wanted.mean is not None and draw is not None and draw.site not in self._added:
                self._take_around(draw, point.path.values, *wanted.mean)
            if all(fact in self._facts for fact in wanted.facts):
                raise wanted.refused from None
            # Stored values are to be compared in time.
            self._facts |= dict.fromkeys(wanted.facts)
            raise _Anew from None

    def _arrivals(
        self, start: Frame | None, begun: RoundPath, rounds: int
    ) -> Iterator[tuple[RoundPath, Point | None]]:
        """Yield the paths from a point, each with the next one, None for the end."""
        for here, path, stop in self._ways(start, begun, rounds):
            if stop is _Stop.END:
                yield path, None
                continue
            waiting = [path]
            while waiting:
                each = waiting.pop()
                try:
                    after = self._point(here, each, stop is _Stop.DRAW)
                except Parted as parted:
                    waiting += reversed(parted.parts)
                else:
                    yield each, after

    def _take_around(
        self, draw: core.Draw, values: Mapping[str, StoredValue], input: str, factor: Fraction
    ) -> None:
        """Begin anew with a draw as around an input, if a variable holds that now."""
        symbol = LinearForm.symbol(input)
        for name, value in values.items():
            if value == symbol:
                self._added[draw.site] = name, factor
                raise _Anew

    # --- paths --------------------------------------------------------------------------------

    def _ways(
        self, start: Frame | None, begun: RoundPath, rounds: int
    ) -> Iterator[tuple[Frame | None, RoundPath, _Stop]]:
        """Follow paths to the next draw, the end, or the end of the second round without a draw.

        They begin after a draw, or at the end of a round (None), after some rounds without one.
        """
        for here, path in self._followed(start, begun):
            if here is None:
                path = self._published(path, ())
                first = into(self._rounds.body, None)
                if first is None:
                    yield None, path, _Stop.END
                elif rounds:
                    yield first, self._next_round(path), _Stop.ROUND
                else:
                    yield from self._ways(first, self._next_round(path), 1)
            elif isinstance(here.statement, core.Exit):
                yield None, self._ended(path), _Stop.END
            else:
                yield here, self._published(path, self._live.assigned(here)), _Stop.DRAW

    def _followed(
        self, here: Frame | None, path: RoundPath
    ) -> Iterator[tuple[Frame | None, RoundPath]]:
        """Follow paths up to draws and exits, None for the end, in the order of their parts."""
        waiting = [(here, path)]
        while waiting:
            here, path = waiting.pop()
            try:
                while here is not None and (way := self._after(here, path)) is not None:
                    here, path = way
            except Parted as parted:
                waiting += [(here, part) for part in reversed(parted.parts)]
            else:
                yield here, path

    def _after(self, here: Frame, path: RoundPath) -> tuple[Frame | None, RoundPath] | None:
        """Return how a path goes on; None before draws and exits."""
        match here.statement:
            case core.Assign() as assignment:
                return here.after(), self._assigned(assignment, path)
            case core.If(condition, then, otherwise):
                branch = then if paths.holds(self._forms, condition, path) else otherwise
                return into(branch, here.after()), path
            case core.While(condition, body):
                path = replace(path, turns=path.turns + 1)
                if path.turns > MOST_TURNS:
                    message = f"more than {MOST_TURNS} turns"
                    raise paths.refusal(message, here.statement.span, "", "limit")
                check_limits()
                inside = paths.holds(self._forms, condition, path)
                return (into(body, here) if inside and body else here.after()), path
            case core.Draw() as draw:
                return self._as_fresh(here, path, draw)
            case core.Exit():
                return None
            case core.Choose():
                raise paths.refusal(
                    "a random choice among finitely many values: with any number of rounds "
                    "all noise is Laplace",
                    here.statement.span,
                )
            case _:
                assert_never(here.statement)

    def _assigned(self, statement: core.Assign, path: RoundPath) -> RoundPath:
        value = evaluation.evaluate(self._forms, statement.value, path)
        known = paths.known_in(value)
        if statement.target == _PUBLISHED and known not in (None, *self._rounds.symbols):
            allowed = ", ".join(map(str, self._rounds.symbols)) or "samples only"
            message, hint = f"{known} is published, which is not declared", "'publishes' allows "
            raise paths.refusal(message, statement.span, hint + allowed, "value error")
        return path.put(
            evaluation.cell_of(self._forms, statement.target, path), value, statement.span
        )

    def _next_round(self, path: RoundPath) -> RoundPath:
        kept = {name: path.values[name] for name in self._live.at(None, (), path.values)}
        return replace(path, in_rounds=True, values=kept, cells=0)

    def _ended(self, path: RoundPath) -> RoundPath:
        if self._rounds.padding is not None:
            return self._published(path, ())
        shown = path.shown
        return replace(path, shown=replace(shown, symbols=(*shown.symbols, END)))

    def _published(self, path: RoundPath, awaited: Sequence[str] | frozenset[str]) -> RoundPath:
        """Publish the output cells of the round, up to one that may still be assigned."""
        for cell in self._awaited(path):
            if cell in awaited:
                break
            if cell not in path.values:
                message = f"'{cell}' may have no value at the end of a round"
                raise paths.refusal(message, self._outputs[cell].span)
            value = path.values[cell]
            known = paths.known_in(value)
            if known is not None and known not in self._outputs[cell].domain:
                message = f"{known} is not in the domain of '{cell}'"
                raise paths.refusal(message, self._outputs[cell].span)
            path = replace(path.publish(value, None), cells=path.cells + 1)
        return path

    def _as_fresh(
        self, here: Frame, path: RoundPath, draw: core.Draw
    ) -> tuple[Frame | None, RoundPath] | None:
        """Return the way after a draw that is published at once, on the same input; or None."""
        if self._source is None:
            return None
        number, following = self._source, here.after()
        if draw.target != _PUBLISHED:
            statement = None if following is None else following.statement
            if following is None or not isinstance(statement, core.Assign):
                return None
            following = following.after()
            names = (draw.target.name,) if isinstance(draw.target, core.Variable) else ()
            is_read = self._live.at(following, self._awaited(path), names)
            if statement.target != _PUBLISHED or is_read:
                return None
            drawn = LinearForm.symbol(_FRESH) - self._around(path, draw)
            published = path.put(evaluation.cell_of(self._forms, draw.target, path), drawn, None)
            value = evaluation.evaluate(self._forms, statement.value, published)
            if samples_in(value) != (_FRESH,) or not isinstance(value, LinearForm):
                return None
            inputs = value.inputs()
            if len(inputs) == 1 and draw.site not in self._added:
                factor = value.coefficient(inputs[0]) / value.coefficient(_FRESH)
                self._take_around(draw, path.values, inputs[0], factor)
            if inputs:
                return None
        noise = self._found.noises[number]
        if noise.statement is None or path.shown.sample or path.shown.fresh:
            return None
        other = self._noise(path, draw)
        same = (other.reads, other.input or "") == (noise.reads, path.drawn_input or "")
        fresh = AutomatonNoise(other.rate, other.mean)
        if not same or self._fresh.setdefault(number, fresh) != fresh:
            return None
        return following, replace(path, shown=replace(path.shown, fresh=fresh))

    # --- points ------------------------------------------------------------------------------

    def _awaited(self, path: RoundPath) -> tuple[str, ...]:
        """Return the output cells of the round that are not published yet."""
        cells = self._rounds.each if path.in_rounds else self._rounds.before
        return cells[path.cells :]

    def _point(self, here: Frame | None, path: RoundPath, draws: bool) -> Point:
        """Forget what is not read any more, and place the drawn sample; or Parted."""
        live = self._live.at(here, self._awaited(path), path.values)
        values = {name: path.values[name] for name in sorted(live)}
        taken = {s for v in values.values() for s in samples_in(v) if s != DRAWN}
        new = set[int]()
        inputs: dict[Symbol, Symbol] = {}
        for name, value in values.items():
            if not isinstance(value, LinearForm):
                continue
            renamed: dict[Symbol, Symbol] = {symbol: symbol for symbol, _ in value.terms}
            for symbol in value.inputs():
                stream = symbol.rpartition(" ")[0]
                renamed[symbol] = inputs.setdefault(symbol, f"{stream} {len(inputs) + 1}")
            if DRAWN in renamed:
                place = self._free_place(name, taken)
                renamed[DRAWN] = place
                taken.add(place)
                new.add(place)
            values[name] = value.renamed(renamed.__getitem__)
        used = frozenset(str(inputs[s]) for s in path.used if s in inputs)
        facts = self._known_facts(path, taken - new, new)
        kept = RoundPath(
            path.integers, path.in_rounds, values, used, facts=facts, cells=path.cells,
            serial=1 + len(inputs),
        )  # fmt: skip
        return Point(here, draws, kept)

    def _known_facts(self, path: RoundPath, old: set[int], new: set[int]) -> Facts:
        """Return what is known of old stored values, and what is asked of new ones; or Parted."""
        facts = {
            (place, atom): outcome
            for (place, atom), outcome in path.facts.items()
            if place in old and (atom.stored is None or atom.stored in old)
        }
        for place, atom in self._facts:
            if place in new and (atom.stored is None or atom.stored in old):
                if atom not in path.guard:
                    raise path.undecided(atom)
                facts[place, atom] = path.guard[atom]
        return facts

    def _free_place(self, name: str, taken: set[int]) -> int:
        """Return the symbol of a place for a stored value, named after a variable."""
        while True:
            if name not in self._places:
                self._places.append(name)
            symbol = self._places.index(name) + 1
            if symbol not in taken:
                return symbol
            name += "'"

    # --- draws --------------------------------------------------------------------------------

    def _noise_at(self, point: Point) -> Noise:
        statement = point.here.statement if point.draws and point.here is not None else None
        if statement is None:
            return Noise(None, Fraction(1), Fraction(0), Fraction(0), None)
        if not isinstance(statement, core.Draw):
            raise BrokenInvariant("a point that draws is at no draw")
        noise = self._noise(point.path, statement)
        if noise.input is not None and noise.input in point.path.used:
            self._found.shares = statement
        return noise

    def _noise(self, path: RoundPath, draw: core.Draw) -> Noise:
        return paths.read_noise(
            draw, evaluation.form_of(self._forms, draw.mean, path) + self._around(path, draw)
        )

    def _drawn(self, path: RoundPath, draw: core.Draw) -> RoundPath:
        noise = self._noise(path, draw)
        used = path.used | ({noise.input} if noise.input is not None else set())
        after = replace(path, used=used, drawn_input=noise.input)
        value = LinearForm.symbol(DRAWN) - self._around(path, draw)
        return after.put(evaluation.cell_of(self._forms, draw.target, after), value, draw.span)

    def _around(self, path: RoundPath, draw: core.Draw) -> LinearForm:
        if draw.site not in self._added:
            return LinearForm.constant_form(0)
        name, factor = self._added[draw.site]
        value = path.values.get(name)
        if not isinstance(value, LinearForm):
            message = f"'{name}' has no value here, but is added to the sample"
            raise paths.refusal(message, draw.span, "write the input as the mean")
        return value.scaled(factor)


def _stored(path: RoundPath, after: Point) -> frozenset[int]:
    """Return the places that store the drawn sample at a point that a path leads to."""
    return frozenset(
        symbol
        for name, value in after.path.values.items()
        if DRAWN in samples_in(path.values[name])
        for symbol in samples_in(value)
        if symbol not in samples_in(path.values[name])
    )


def _integers(*blocks: core.Block) -> bool:
    """Whether all samples are integers; SourceError if some are and some are not.

    Between integers ties and gaps matter, between real samples they do not.
    """
    draws = [s for block in blocks for s in statements_in(block) if isinstance(s, core.Draw)]
    kinds = {draw.family.is_discrete for draw in draws}
    if len(kinds) > 1:
        other = next(draw for draw in draws if draw.family.is_discrete)
        raise paths.refusal(
            "integer noise beside real noise: with any number of rounds all noise is of one kind",
            other.span,
        )
    return True in kinds
