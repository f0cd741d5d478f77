"""Some rounds of a program with streams, written out: an ordinary program with real inputs.

What is published stands in the cells of an output in its order, and last, where the program ends,
that it does; the cells that are left hold a word that no program publishes. Whoever sees the stream
sees at least as much. So what this program needs, all rounds need.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import count

from dipapprox.data_classes import replace
from dipapprox.language import core
from dipapprox.language.cells import statements_in
from dipapprox.rounds.visible import END

_SHOWN, _COUNTER = "shown#", "counter#"
_NOTHING = "nothing#"


class NotWrittenOut(Exception):
    """A program reads in a branch, publishes what is no symbol, or has loops within rounds."""


def some_rounds(program: core.Program, turns: int) -> core.Program:
    """Return the program of some rounds.

    Args:
        program: With streams.
        turns: How many rounds, > 0.

    Raises:
        NotWrittenOut: If it is not of the kind that this is for.
    """
    rounds = program.rounds
    if rounds is None or rounds.parameter is not None or rounds.before or rounds.each:
        raise NotWrittenOut
    return _Writer(program, rounds).written(turns)


class _Writer:
    def __init__(self, program: core.Program, rounds: core.Rounds) -> None:
        self._program, self._rounds = program, rounds
        self._sites = count()
        self._read = dict[str, int]()
        body = (*program.body, *rounds.body)
        self._most = sum(map(_publishes, statements_in(rounds.body)))
        self._before = sum(map(_publishes, statements_in(program.body)))
        self._ends = any(isinstance(each, core.Exit) for each in statements_in(body))
        if any(isinstance(each, core.While | core.Repeat) for each in statements_in(body)):
            raise NotWrittenOut

    def written(self, turns: int) -> core.Program:
        """Return the program of some rounds."""
        size = self._before + turns * self._most + self._ends
        domain = (*self._rounds.symbols, _NOTHING, *((END,) if self._ends else ()))
        cells = [core.Cell(f"{_SHOWN}[{k}]", _SHOWN, k, domain) for k in range(1, size + 1)]
        zero: core.Statement = core.Assign(core.Variable(_COUNTER), core.Constant(Fraction(0)))
        begins = [core.Assign(core.Variable(cell.name), core.Constant(_NOTHING)) for cell in cells]
        body = [*begins, zero, *self._block(self._program.body, size, top=True)]
        for _ in range(turns):
            body += self._block(self._rounds.body, size, top=True)
        inputs = [
            replace(cell, name=f"{cell.name}[{k}]", index=k)
            for cell in self._program.inputs
            for k in range(1, self._read.get(cell.name, 0) + 1)
        ]
        if not inputs or not cells:
            raise NotWrittenOut
        return replace(
            self._program,
            inputs=tuple(inputs),
            outputs=tuple(cells),
            body=tuple(body),
            rounds=None,
        )

    def _block(self, block: core.Body, size: int, *, top: bool) -> Iterator[core.Statement]:
        for each in block:
            match each:
                case core.Assign(target=core.Variable(name=core.PUBLISHED), value=value):
                    if not isinstance(value, core.Constant):
                        raise NotWrittenOut
                    yield from _published(value, size)
                case core.Assign(value=core.Variable(name=name)) if name.startswith(core.NEXT):
                    if not top:
                        raise NotWrittenOut
                    stream = name.removeprefix(core.NEXT)
                    self._read[stream] = self._read.get(stream, 0) + 1
                    value = core.Variable(f"{stream}[{self._read[stream]}]")
                    yield replace(each, value=value)
                case core.Assign():
                    yield each
                case core.Exit():
                    yield from _published(core.Constant(END), size)
                    yield each
                case core.Draw() | core.Choose():
                    if each.target == core.Variable(core.PUBLISHED):
                        raise NotWrittenOut
                    yield replace(each, site=next(self._sites))
                case core.If():
                    then = tuple(self._block(each.then, size, top=False))
                    otherwise = tuple(self._block(each.otherwise, size, top=False))
                    yield replace(each, then=then, otherwise=otherwise)
                case _:
                    raise NotWrittenOut


def _published(value: core.Constant, size: int) -> Iterator[core.Statement]:
    counter = core.Variable(_COUNTER)
    yield core.Assign(counter, core.Sum(counter, core.Constant(Fraction(1))))
    yield core.Assign(core.Element(_SHOWN, size, counter), value)


def _publishes(statement: core.Statement) -> bool:
    return isinstance(statement, core.Assign) and statement.target == core.Variable(core.PUBLISHED)
