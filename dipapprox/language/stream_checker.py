"""What may be said of streams, before the parameters are known."""

from __future__ import annotations

from collections.abc import Mapping

from dipapprox.language import ast
from dipapprox.language.diagnosis import Diagnosis, did_you_mean
from dipapprox.language.expression_checker import ExpressionChecker
from dipapprox.language.symbols import Role, Symbol
from dipapprox.language.traversal import statements_of
from dipapprox.source import Span

_LOOP = "streams are read in 'forever do … end', the last statement of a program"


def is_stream_program(program: ast.Program) -> bool:
    """Whether a program has a stream, publishes something or goes on for ever."""
    return any(isinstance(d, ast.Stream | ast.Publishes) for d in program.declarations) or any(
        isinstance(each, ast.Read | ast.Publish | ast.Forever)
        for each in statements_of(program.body)
    )


class StreamChecker:
    """Checks what only programs with streams have."""

    def __init__(
        self,
        symbols: Mapping[str, Symbol],
        expressions: ExpressionChecker,
        diagnosis: Diagnosis,
        program: ast.Program,
    ) -> None:
        self._symbols = symbols
        self._expressions = expressions
        self._diagnosis = diagnosis
        self._program = program
        self._streams = tuple(d.name for d in program.declarations if isinstance(d, ast.Stream))

    def check(self) -> None:
        """Check declarations and where the loop is."""
        program = self._program
        if not is_stream_program(program):
            self._domains_of_outputs(program)
            return
        *before, last = program.body or (None,)
        for loop in statements_of(program.body):
            if isinstance(loop, ast.Forever) and loop is not last:
                where = "is the last statement" if loop in before else "stands in no other block"
                self._error(f"'forever' {where}", loop.span, _LOOP)
        if not isinstance(last, ast.Forever):
            place = None if last is None else last.span
            first = program.declarations[0] if program.declarations else program
            self._error("a program with a stream needs a 'forever'", place or first.span, _LOOP)
        listed = False
        for declaration in program.declarations:
            match declaration:
                case ast.Input() | ast.Output():
                    word = "input" if isinstance(declaration, ast.Input) else "output"
                    instead = "stream q in real" if word == "input" else "publishes {bot, top}"
                    self._error(
                        f"a program with a stream has no '{word}'",
                        declaration.span,
                        f"declare '{instead}'",
                    )
                case ast.Stream(domain=domain):
                    if not isinstance(domain[0], ast.Reals):
                        hint = f"write 'stream {declaration.name} in real'"
                        self._error("a stream is one of real numbers", declaration.span, hint)
                case ast.Publishes():
                    if listed:
                        message = "what is published is declared twice"
                        self._error(message, declaration.span, "put it into one list")
                    listed = True
                case _:
                    pass

    def _domains_of_outputs(self, program: ast.Program) -> None:
        for declaration in program.declarations:
            match declaration:
                case ast.Output(domain=(ast.Reals(bounds),)) if bounds is not None:
                    self._error(
                        "a real output has no bounds", bounds.span,
                        "write 'real': noise goes beyond all bounds",
                    )  # fmt: skip
                case _:
                    pass

    def statement(self, statement: ast.Read | ast.Publish) -> None:
        """Check that a stream is read, and that what is published can be."""
        match statement:
            case ast.Read(name):
                if name not in self._streams:
                    known = f"declare 'stream {name} in real'"
                    hint = did_you_mean(name, self._streams, known)
                    self._error(f"'{name}' is no stream", statement.span, hint)
            case ast.Publish(value):
                self._expressions.expression(value, wanted=True)
                if isinstance(value, ast.Name | ast.Index) and value.name in self._symbols:
                    self._expressions.shape(value, self._symbols[value.name])
                    role = self._symbols[value.name].role
                    if role is Role.INPUT:
                        message = f"the input '{value.name}' is published without noise"
                        hint = f"write 'publish Lap({value.name}, 1 / eps)'"
                        self._error(message, value.span, hint)

    def _error(self, message: str, span: Span | None, hint: str = "") -> None:
        self._diagnosis.report("type error", message, span, hint)
