"""What may be said of streams, before the parameters are known."""

from __future__ import annotations

from collections.abc import Mapping

from dipapprox.errors import Diagnosis, did_you_mean
from dipapprox.language import ast
from dipapprox.language.expression_checker import ExpressionChecker
from dipapprox.language.symbols import Role, Symbol
from dipapprox.language.traversal import statements_of
from dipapprox.source import Span

_LOOP = "streams are read in 'forever do … end', the last statement of a program"


def check_streams(program: ast.Program, diagnosis: Diagnosis) -> None:
    """Check the declarations of a program with streams, and where its loop is."""
    *before, last = program.body or (None,)
    for loop in statements_of(program.body):
        if isinstance(loop, ast.Forever) and loop is not last:
            where = "is the last statement" if loop in before else "stands in no other block"
            _error(diagnosis, f"'forever' {where}", loop.span, _LOOP)
    if not isinstance(last, ast.Forever):
        place = None if last is None else last.span
        first = program.declarations[0] if program.declarations else program
        _error(diagnosis, "a program with a stream needs a 'forever'", place or first.span, _LOOP)
    listed = False
    for declaration in program.declarations:
        match declaration:
            case ast.Input() | ast.Output():
                word = "input" if isinstance(declaration, ast.Input) else "output"
                instead = "stream q in real" if word == "input" else "publishes {bot, top}"
                _error(
                    diagnosis,
                    f"a program with a stream has no '{word}'",
                    declaration.span,
                    f"declare '{instead}'",
                )
            case ast.Stream(domain=domain):
                if not isinstance(domain[0], ast.Reals):
                    hint = f"write 'stream {declaration.name} in real'"
                    _error(diagnosis, "a stream is one of real numbers", declaration.span, hint)
            case ast.Publishes():
                if listed:
                    message = "what is published is declared twice"
                    _error(diagnosis, message, declaration.span, "put it into one list")
                listed = True
            case _:
                pass


def check_statement(
    statement: ast.Read | ast.Publish,
    program: ast.Program,
    symbols: Mapping[str, Symbol],
    expressions: ExpressionChecker,
    diagnosis: Diagnosis,
) -> None:
    """Check that a stream is read, and that what is published can be."""
    match statement:
        case ast.Read(name):
            streams = [each.name for each in program.declarations if isinstance(each, ast.Stream)]
            if name not in streams:
                known = f"declare 'stream {name} in real'"
                hint = did_you_mean(name, streams, known)
                _error(diagnosis, f"'{name}' is no stream", statement.span, hint)
        case ast.Publish(value):
            expressions.expression(value, wanted=True)
            if isinstance(value, ast.Name | ast.Index) and value.name in symbols:
                expressions.shape(value, symbols[value.name])
                role = symbols[value.name].role
                if role is Role.INPUT:
                    message = f"the input '{value.name}' is published without noise"
                    hint = f"write 'publish Lap({value.name}, 1 / eps)'"
                    _error(diagnosis, message, value.span, hint)


def _error(diagnosis: Diagnosis, message: str, span: Span | None, hint: str = "") -> None:
    diagnosis.report("type error", message, span, hint)
