"""Text to surface tree: an LALR(1) parser, built once by PLY from the two grammar modules."""

from __future__ import annotations

from copy import copy
from functools import cache
from types import SimpleNamespace
from typing import Any

from ply import yacc

from dipapprox.language import ast, expression_grammar, statement_grammar
from dipapprox.language.diagnosis import MOST_DIAGNOSTICS, Diagnosis
from dipapprox.language.lexer import TOKENS
from dipapprox.language.mending import mend
from dipapprox.language.tokens import TokenStream, read_tokens
from dipapprox.language.unexpected import report_unexpected
from dipapprox.source import SourceFile

_LONGEST_MENDED = 5000  # tokens; longer texts get one message, as mending parses again


def parse(text: str, name: str = "<text>") -> ast.Program:
    """Parse a `.dpg` program.

    Args:
        text: The program.
        name: What messages call it.

    After a syntax error the statement or header at fault is replaced by a harmless one and the
    text is parsed again, so that one mistake gives one message and all are found.

    Raises:
        SourceError: With every syntax error found, in source order.
    """
    source = SourceFile(name, text)
    problems = Diagnosis()
    tokens = read_tokens(source, problems)
    program: Any = None
    parser = copy(_parser())  # the tables of all threads, and a state of its own
    for _ in range(MOST_DIAGNOSTICS):
        stream = TokenStream(source, problems, tokens)
        try:
            program = parser.parse(lexer=stream, tracking=True)
            break
        except _Unexpected as error:
            report_unexpected(stream, error.token, parser.action[parser.state])
            if len(tokens) > _LONGEST_MENDED:
                break
            tokens = mend(tokens, len(tokens) if error.token is None else stream.position)
    problems.finish()
    assert isinstance(program, ast.Program)
    return program


class _Unexpected(Exception):
    """The parser has no use for a token; None is the end of the text."""

    def __init__(self, token: Any) -> None:
        super().__init__()
        self.token = token


@cache
def _parser() -> Any:
    parser = build_parser(debug=False, errorlog=yacc.NullLogger())
    # With default reductions an error would be noticed too late to say what was expected.
    parser.disable_defaulted_states()
    return parser


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
        p_error=_raise_unexpected,
        **rules,
    )
    return yacc.yacc(
        module=grammar, start="program", write_tables=False, tabmodule="no_table", **options
    )


def _raise_unexpected(token: Any) -> None:
    raise _Unexpected(token)
