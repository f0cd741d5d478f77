"""Text to surface tree: an LALR(1) parser, built once by PLY from the two grammar modules."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

from ply import yacc

from dipapprox.language import ast, expression_grammar, statement_grammar
from dipapprox.language.lexer import TOKENS
from dipapprox.language.tokens import read_tokens
from dipapprox.language.unexpected import report_unexpected
from dipapprox.source import SourceFile


def parse(text: str, name: str = "<text>") -> ast.Program:
    """Parse a `.dpg` program.

    Args:
        text: The program.
        name: What messages call it.

    Raises:
        SourceError: With every syntax error found, in source order.
    """
    stream = read_tokens(SourceFile(name, text))
    program = _parser().parse(lexer=stream, tracking=True)
    if program is None and not stream.problems:
        report_unexpected(stream, None, ())
    stream.problems.finish()
    assert isinstance(program, ast.Program)
    return program


@cache
def _parser() -> Any:
    return build_parser(debug=False, errorlog=yacc.NullLogger())


def build_parser(**options: Any) -> Any:
    """Build the tables (about 40 ms). They are never written to disk."""
    rules = {
        name: rule
        for module in (expression_grammar, statement_grammar)
        for name, rule in vars(module).items()
        if name.startswith("p_")
    }
    grammar = SimpleNamespace(
        __file__=__file__,
        tokens=TOKENS,
        precedence=expression_grammar.precedence,
        p_error=_report,
        **rules,
    )
    return yacc.yacc(
        module=grammar, start="program", write_tables=False, tabmodule="no_table", **options
    )


def _report(token: Any) -> None:
    """Report an unexpected token; PLY then resumes at the next separator (item : error)."""
    if token is not None:  # the end of the text: `parse` reports it, PLY gives up
        parser = _parser()
        report_unexpected(token.lexer, token, parser.action[parser.state])
