"""Some rounds of a program with streams: an ordinary program.

    stream q in real                          input  q[3] in -1..1
    publishes {bot, top}                      output out[3] in {bot, top, nothing}
    forever do                                for round in 1..3 do out[round] <- nothing end
        read q                           →    for round in 1..3 do
        r <- Lap(q, 2 / eps)                      q <- q[round]
        if r >= 0 then publish top; exit end      r <- Lap(q, 2 / eps)
        publish bot                               if r >= 0 then out[round] <- top; exit end
    end                                           out[round] <- bot
                                              end

Where a round need not read once, or publish once, entries are counted instead. That the program
ends is seen: as rounds that publish nothing where every round publishes once, else `exit` publishes
the value `ended`. So whoever sees the stream sees at least as much: what some rounds need, all do.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import assert_never

from dipapprox.data_classes import Record, replace
from dipapprox.errors import Diagnosis, UserError
from dipapprox.language import core
from dipapprox.language.calls import MOST_STATEMENTS
from dipapprox.language.cells import assigned, read, statements_in, tainted, turn_of, written_out
from dipapprox.language.domains import MOST_CELLS, Domain
from dipapprox.language.traversal import free_name, rewrite
from dipapprox.source import Located, Span

NOTHING = "nothing"  # what is published in a round that publishes nothing, or is not reached
ENDED = "ended"  # what `exit` publishes where rounds may publish nothing
_OUTPUT = "out"
_FEW = 5  # so many turns are written out


def some_rounds(program: core.Program, turns: int, values: Domain | None = None) -> core.Program:
    """Return the program of some rounds.

    Args:
        turns: How many rounds, > 0.
        values: What inputs may be; None for what the streams are.

    Raises:
        UserError: If the program has no streams.
        SourceError: If it publishes real numbers, reads or publishes in inner loops, or all that
            is too long.
    """
    rounds = program.rounds
    if rounds is None or rounds.parameter is not None:
        hint = "how many turns a loop has is set by a parameter: -p N=3"
        raise UserError("the program has no rounds: --rounds is for programs with 'forever'", hint)
    return _Writer(program, rounds, turns).written(values)


class _Entries(Record, frozen=False, eq=False):
    """The cells of an array that rounds take one after the other."""

    array: str
    size: int  # how many there are
    is_regular: bool  # whether it is known which cell is taken; if not, a variable counts
    taken: int = 0  # the cell that was taken last, if it is known

    @property
    def counter(self) -> str:
        return f"{self.array}#"

    def cell(self) -> tuple[core.Block, core.Variable | core.Element]:
        """Return the cell that is taken now, and what has to be done before."""
        if self.is_regular:
            return (), core.Variable(f"{self.array}[{self.taken}]")
        counter = core.Variable(self.counter)
        more = core.Sum(counter, core.Constant(Fraction(1)))
        return (core.Assign(counter, more),), core.Element(self.array, self.size, counter)


class _Writer:
    def __init__(self, program: core.Program, rounds: core.Rounds, turns: int) -> None:
        self._program, self._rounds, self._turns = program, rounds, turns
        self._before, self._each = written_out(program.body), rounds.body
        self._inside = list(statements_in(self._each))
        self._sites = sum(isinstance(each, core.Draw | core.Choose) for each in self._inside)
        self._noise = tainted((*self._before, *self._each))
        self._nothing, self._ended = (
            core.Constant(free_name(name, rounds.symbols)) for name in (NOTHING, ENDED)
        )
        self._reads = {cell.name: self._entries_read(cell.name) for cell in program.inputs}
        early, ways = _ways(self._before), _ways(self._each)
        most, before = (max(count for count, _ in each) for each in (ways, early))
        ends = any(ended for _, ended in (*early, *ways))
        once = not before and most == 1 and (0, False) not in ways
        self._shows_the_end = ends and not once
        self._is_total = once and not ends
        size = max(1, before + most * turns + self._shows_the_end)
        arrays = {name.partition("[")[0] for name in assigned((*self._before, *self._each))}
        self._published = _Entries(free_name(_OUTPUT, arrays), size, once)

    def _entries_read(self, stream: str) -> _Entries:
        following = core.Variable(core.NEXT + stream)

        def count(statements: Iterable[core.Statement]) -> int:
            return sum(isinstance(s, core.Assign) and s.value == following for s in statements)

        blocks = self._before, self._each
        before, each = (count(statements_in(block)) for block in blocks)
        is_regular = [before, each] == [count(block) for block in blocks]
        return _Entries(stream, max(1, before + each * self._turns), is_regular)

    def written(self, values: Domain | None) -> core.Program:
        program, published, symbols = self._program, self._published, self._rounds.symbols
        entries = (*self._reads.values(), published)
        long = len(self._inside) * self._turns > MOST_STATEMENTS
        if long or sum(each.size for each in entries) > MOST_CELLS:
            raise Diagnosis().abort("limit", f"{self._turns} rounds are too long", None)
        begins: list[core.Statement | core.Repeat] = [
            core.Assign(core.Variable(each.counter), core.Constant(Fraction(0)))
            for each in entries
            if not each.is_regular
        ]
        if not self._is_total:
            symbols = (*symbols, self._nothing.value)
            first = core.Assign(core.Variable(f"{published.array}[1]"), self._nothing)
            begins += _repeated((first,), published.size, (published.array,), 0)
        if self._shows_the_end:
            symbols = (*symbols, self._ended.value)
        rounding = program.rounding
        if rounding is not None:
            error, samples = rounding.error * self._turns, rounding.samples * self._turns
            rounding = replace(rounding, error=error, samples=samples)

        return replace(
            program,
            inputs=tuple(
                replace(cell, name=f"{cell.name}[{k}]", index=k, domain=values or cell.domain)
                for cell in program.inputs
                for k in range(1, self._reads[cell.name].size + 1)
            ),
            outputs=tuple(
                core.Cell(f"{published.array}[{k}]", published.array, k, symbols)
                for k in range(1, published.size + 1)
            ),
            body=(*begins, *self._block(self._before, 0), *self._all_rounds()),
            rounds=None,
            rounding=rounding,
        )

    def _all_rounds(self) -> core.Body:
        """Return the rounds: equal turns, if each takes one cell of every array."""
        first = self._round(0)
        arrays = [entries for entries in self._reads.values() if entries.taken]
        arrays.append(self._published)
        in_step = all(e.is_regular and e.taken == 1 and e.size == self._turns for e in arrays)
        if in_step and not any(isinstance(s, core.While | core.Choose) for s in self._inside):
            names = tuple(each.array for each in arrays)
            return _repeated(first, self._turns, names, self._sites)
        more = (self._round(turn) for turn in range(1, self._turns))
        return (*first, *(statement for block in more for statement in block))

    def _round(self, turn: int) -> core.Block:
        self._published.taken = turn + 1
        return self._block(self._each, turn)

    def _block(self, block: core.Block, turn: int, *, looped: bool = False) -> core.Block:
        """Replace what only programs with streams have; draws differ from turn to turn."""

        def change(each: Located) -> Located | core.Block | None:
            match each:
                case core.Assign(value=core.Variable(name)) if name.startswith(core.NEXT):
                    _require_outside(looped, "read", each.span)
                    entries = self._reads[name.removeprefix(core.NEXT)]
                    entries.taken += 1
                    counting, cell = entries.cell()
                    return (*counting, replace(each, value=cell))
                case core.Assign() | core.Draw() | core.Choose():
                    if not isinstance(each, core.Assign):
                        each = replace(each, site=each.site + turn * self._sites)
                    if not _publishes(each):
                        return each
                    _require_outside(looped, "publish", each.span)
                    noise = isinstance(each, core.Draw)
                    if isinstance(each, core.Assign):
                        noise = not self._noise.isdisjoint(read(each.value))
                    if noise:
                        hint = "only 'prove' answers for that; publish what it is compared with"
                        message = "a number of noise is published"
                        raise Diagnosis().abort("type error", message, each.span, hint)
                    return self._publishing(each)
                case core.While(_, body):
                    return replace(each, body=self._block(body, turn, looped=True))
                case core.Exit() if self._shows_the_end:
                    end = core.Assign(core.Variable(core.PUBLISHED), self._ended)
                    return (*self._publishing(end), each)
                case _:
                    return None

        return rewrite(block, change)

    def _publishing(self, each: core.Assign | core.Draw | core.Choose) -> core.Block:
        counting, cell = self._published.cell()
        return (*counting, replace(each, target=cell))


def _ways(block: core.Block) -> set[tuple[int, bool]]:
    """Return how often a block may publish, and whether it then ends the program."""
    ways = {(0, False)}
    for statement in block:
        match statement:
            case core.Exit():
                then = {(0, True)}
            case core.If(_, yes, no):
                then = _ways(yes) | _ways(no)
            case core.While(_, body):
                then = {(0, False), *(way for way in _ways(body) if way[1])}
            case core.Assign() | core.Draw() | core.Choose():
                then = {(int(_publishes(statement)), False)}
            case _:
                assert_never(statement)
        going = {count for count, ended in ways if not ended}
        before = {way for way in ways if way[1]}
        ways = before | {(count + more, end) for count in going for more, end in then}
    return ways


def _publishes(statement: core.Assign | core.Draw | core.Choose) -> bool:
    return statement.target == core.Variable(core.PUBLISHED)


def _require_outside(looped: bool, word: str, span: Span | None) -> None:
    if looped:
        hint = "with --rounds every round reads and publishes a known number of times at most"
        raise Diagnosis().abort("type error", f"'{word}' in an inner loop", span, hint)


def _repeated(
    first: core.Block, turns: int, arrays: tuple[str, ...], sites: int
) -> tuple[core.Statement | core.Repeat, ...]:
    """Return equal turns; what matters after the last one may matter less after the others."""
    loop = core.Repeat(first, turns - 1, 1, arrays, sites)
    body = (loop, *turn_of(loop, turns - 1))
    return body if turns > _FEW else written_out(body)
