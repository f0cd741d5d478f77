"""Some rounds of a program with streams, with finitely many values: an ordinary program.

    stream q in real                          input  q[3] in -1..1
    publishes {bot, top}                      output out[3] in {bot, top, nothing}
    forever do                                for round in 1..3 do out[round] <- nothing end
        read q                           →    for round in 1..3 do
        r <- Lap(q, 2 / eps)                      q' <- q[round]
        if r >= 0 then publish top; exit end      r <- Lap(q', 2 / eps)
        publish bot                               if r >= 0 then out[round] <- top; exit end
    end                                           out[round] <- bot
                                              end

Where a round need not read once, or publish once, entries are counted instead. That the program
ends is seen: as rounds that publish nothing where every round publishes once, else `exit` publishes
the value `ended`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from dipapprox.data_classes import dataclass, replace
from dipapprox.errors import Diagnosis, UserError
from dipapprox.language import ast
from dipapprox.language.checker import check
from dipapprox.language.constants import Wrong
from dipapprox.language.domains import Domain
from dipapprox.language.symbols import Kind, Symbol, kind_of
from dipapprox.language.traversal import nodes_in, rewrite

NOTHING = "nothing"
"""What is published in a round that publishes nothing, or is not reached."""

ENDED = "ended"
"""What `exit` publishes where rounds may publish nothing."""

MOST_ROUNDS = 10_000

_OUTPUT, _ROUND = "out", "round#"  # '#' begins a comment: no program can name it


@dataclass(frozen=True, slots=True)
class FiniteRounds:
    """How many rounds there are, and what inputs may be."""

    rounds: int
    values: Domain


def with_finite_rounds(program: ast.Program, wanted: FiniteRounds) -> ast.Program:
    """Return the program of some rounds.

    Raises:
        UserError: If the program has no rounds.
        SourceError: If it is wrong, or publishes real numbers.
    """
    if not program.body or not isinstance(program.body[-1], ast.Forever):
        raise UserError(
            "the program has no rounds: --rounds is for programs with 'forever'",
            "how many turns a loop has is set by a parameter: -p N=3",
        )
    symbols = check(program)
    diagnosis = Diagnosis()
    try:
        return _Finite(program, wanted, symbols).made()
    except Wrong as wrong:
        wrong.report(diagnosis)
        diagnosis.finish()
        raise


class _Finite:
    def __init__(
        self, program: ast.Program, wanted: FiniteRounds, symbols: Mapping[str, Symbol]
    ) -> None:
        *before, loop = program.body
        assert isinstance(loop, ast.Forever)
        self._program, self._wanted, self._symbols = program, wanted, symbols
        self._before, self._body = tuple(before), loop.body
        self._output = _unused(_OUTPUT, symbols)
        self._nothing, self._ended = (_unused(name, symbols) for name in (NOTHING, ENDED))

    def made(self) -> ast.Program:
        """Return the program."""
        streams = [d.name for d in self._program.declarations if isinstance(d, ast.Stream)]
        declarations: list[ast.Declaration] = []
        adjacency: list[ast.Declaration] = []
        for statement in nodes_in(self._program.body):
            if isinstance(statement, ast.For | ast.While):
                _check_inner(statement)
        counters = [_Reads(stream, self._before, self._body) for stream in streams]
        published = _Published(self._before, self._body)
        begins: list[ast.Statement] = [
            _assign(each.counter, _number(0)) for each in counters if not each.is_regular
        ]
        size = published.size(self._wanted.rounds)
        if not published.is_regular:
            begins.append(_assign(published.counter, _number(0)))
        symbols: tuple[ast.Element, ...] = ()
        for each in self._program.declarations:
            match each:
                case ast.Stream(name):
                    reads = next(count for count in counters if count.stream == name)
                    entries = max(1, reads.size(self._wanted.rounds))
                    array = ast.Declared(name, _number(entries), span=each.span)
                    values = tuple(_value(value) for value in self._wanted.values)
                    declarations.append(ast.Input((array,), values, span=each.span))
                case ast.Publishes(domain):
                    symbols = domain
                case ast.AdjacentRule() | ast.AdjacentWhere() | ast.AdjacentPairs():
                    adjacency.append(each)
                case _:
                    declarations.append(each)
        if any(isinstance(element, ast.Reals) for element in symbols):
            symbols = ()
        if not published.is_total:
            symbols = (*symbols, ast.Name(self._nothing))
            loop = ast.Name(_ROUND)
            empty = ast.Assign((ast.Index(self._output, loop),), ast.Name(self._nothing))
            begins.insert(0, ast.For(_ROUND, _number(1), _number(size), (empty,)))
        if published.shows_the_end:
            symbols = (*symbols, ast.Name(self._ended))
        outputs = ast.Declared(self._output, _number(size))
        declarations.append(ast.Output((outputs,), symbols))
        before = self._rewritten(self._before, counters, published, in_rounds=False)
        inside = self._rewritten(self._body, counters, published, in_rounds=True)
        span = self._program.body[-1].span
        rounds = ast.For(_ROUND, _number(1), _number(self._wanted.rounds), inside, span=span)
        body = (*begins, *before, rounds)
        return replace(self._program, declarations=(*declarations, *adjacency), body=body)

    def _rewritten(
        self, block: ast.Block, counters: list[_Reads], published: _Published, in_rounds: bool
    ) -> ast.Block:
        """Replace what only programs with streams have."""
        of = {each.stream: each for each in counters}

        def blocks(statements: ast.Block) -> ast.Block:
            found: list[ast.Statement] = []
            for statement in statements:
                match statement:
                    case ast.Read(name):
                        found += of[name].statements(in_rounds)
                    case ast.Publish(value):
                        self._check(value)
                        made = published.statements(self._output, change(value), in_rounds)
                        found += [replace(each, span=statement.span) for each in made]
                    case ast.Exit() if published.shows_the_end:
                        end = ast.Name(self._ended)
                        found += [*published.statements(self._output, end, in_rounds), statement]
                    case _:
                        found.append(change(statement))
            return tuple(found)

        def node_change(node: object) -> object:
            match node:
                case ast.Name(name) if name in of:
                    return ast.Name(of[name].local, span=node.span)
                case ast.Branch(condition, body):
                    return ast.Branch(change(condition), blocks(body), span=node.span)
                case ast.If(branches, otherwise):
                    return ast.If(change(branches), blocks(otherwise), span=node.span)
                case ast.For(variable, first, last, body):
                    ends = change(first), change(last)
                    return ast.For(variable, *ends, blocks(body), span=node.span)
                case ast.While(condition, body):
                    return ast.While(change(condition), blocks(body), span=node.span)
                case _:
                    return None

        def change(tree: Any) -> Any:
            return rewrite(tree, node_change)

        return blocks(block)

    def _check(self, value: ast.Expression) -> None:
        if kind_of(value, self._symbols) & Kind.RANDOM:
            raise Wrong(
                "type error", "a number of noise is published", value.span,
                "only 'prove' answers for that; publish what it is compared with",
            )  # fmt: skip


class _Reads:
    """How often a stream is read, and which entry a read takes.

    Attributes:
        stream: Its name.
        local: The variable with the value that was read last.
        counter: The variable that counts reads, if they are not regular.
        is_regular: Whether every round reads alike.
    """

    def __init__(self, stream: str, before: ast.Block, body: ast.Block) -> None:
        self.stream, self.local, self.counter = stream, f"{stream}#", f"reads of {stream}#"
        self._before, self._each = (self._count(nodes_in(block)) for block in (before, body))
        self.is_regular = (self._count(before), self._count(body)) == (self._before, self._each)
        self._place = 0

    def _count(self, nodes: Iterable[object]) -> int:
        return sum(isinstance(node, ast.Read) and node.name == self.stream for node in nodes)

    def size(self, rounds: int) -> int:
        """Return how many entries are read at most."""
        return self._before + self._each * rounds

    def statements(self, in_rounds: bool) -> list[ast.Statement]:
        """Return what stands for the next read in the text."""
        index: ast.Expression = ast.Name(self.counter)
        if self.is_regular:
            self._place += 1
            place = self._place
            index = _entry(self._each, place) if in_rounds else _number(place)
        reading = ast.Assign((ast.Name(self.local),), ast.Index(self.stream, index))
        return [reading] if self.is_regular else [_counted(self.counter), reading]


class _Published:
    """How often something is published, and which output that is.

    Attributes:
        counter: The variable that counts, if publishing is not regular.
        is_regular: Whether every round publishes once.
        is_total: Whether every output has a value, then.
        shows_the_end: Whether the program may end, and has to publish that it does.
    """

    counter = "published#"

    def __init__(self, before: ast.Block, body: ast.Block) -> None:
        rounds, first = _ways(body), _ways(before)
        self._most = max(count for count, _ in rounds)
        self._first = max(count for count, _ in first)
        goes_on = {count for count, ended in rounds if not ended}
        ends = any(ended for _, ended in (*rounds, *first))
        self.is_regular = not self._first and goes_on <= {1} and self._most == 1
        self.is_total = self.is_regular and not ends
        self.shows_the_end = ends and not self.is_regular

    def size(self, rounds: int) -> int:
        """Return how many outputs there are at most."""
        return max(1, self._first + self._most * rounds + self.shows_the_end)

    def statements(
        self, output: str, value: ast.Expression, in_rounds: bool
    ) -> list[ast.Statement]:
        """Return what stands for publishing a value."""
        index = ast.Name(_ROUND if self.is_regular else self.counter)
        publishing = ast.Assign((ast.Index(output, index),), value)
        return [publishing] if self.is_regular else [_counted(self.counter), publishing]


def _ways(block: ast.Block) -> set[tuple[int, bool]]:
    """Return how often a block may publish, and whether it then ends the program."""
    ways = {(0, False)}
    for statement in block:
        going = {count for count, ended in ways if not ended}
        match statement:
            case ast.Publish():
                then = {(1, False)}
            case ast.Exit():
                then = {(0, True)}
            case ast.If(branches, otherwise):
                blocks = [*(branch.body for branch in branches), otherwise]
                then = set().union(*map(_ways, blocks))
            case _:
                continue
        ended_before = {way for way in ways if way[1]}
        ways = ended_before | {(count + more, end) for count in going for more, end in then}
    return ways


def _check_inner(loop: ast.For | ast.While) -> None:
    for node in nodes_in(loop.body):
        if isinstance(node, ast.Read | ast.Publish):
            word = "read" if isinstance(node, ast.Read) else "publish"
            raise Wrong(
                "type error", f"'{word}' in an inner loop", node.span,
                "with --rounds every round reads and publishes a known number of times at most",
            )  # fmt: skip


def _entry(each: int, place: int) -> ast.Expression:
    """The index of the place-th of some entries that every round has."""
    if each == 1 and place == 1:
        return ast.Name(_ROUND)
    turns = ast.Sum((ast.Name(_ROUND), _number(1)), ("-",))
    return ast.Sum((ast.Product((_number(each), turns), ("*",)), _number(place)), ("+",))


def _number(value: int) -> ast.Number:
    return ast.Number(Fraction(value))


def _assign(name: str, value: ast.Expression) -> ast.Assign:
    return ast.Assign((ast.Name(name),), value)


def _counted(counter: str) -> ast.Assign:
    return _assign(counter, ast.Sum((ast.Name(counter), _number(1)), ("+",)))


def _value(value: str | Fraction) -> ast.Expression:
    if isinstance(value, str):
        return ast.Name(value)
    number = ast.Number(abs(value))
    return ast.Negative(number) if value < 0 else number


def _unused(name: str, symbols: Mapping[str, Symbol]) -> str:
    while name in symbols:
        name += "_"
    return name
