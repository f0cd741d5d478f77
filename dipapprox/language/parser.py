"""Text to surface tree: an LALR(1) parser of the grammar modules' rules."""

from __future__ import annotations

from copy import copy
from functools import cache
from typing import Any

from dipapprox.errors import MOST_DIAGNOSTICS, Diagnosis
from dipapprox.language import ast, expression_grammar, statement_grammar, syntax_errors
from dipapprox.language.grammar import Grammar, rules_in
from dipapprox.language.lexer import TOKENS
from dipapprox.language.tokens import TokenStream, read_tokens
from dipapprox.source import SourceFile

_LONGEST_RECOVERED = 5000  # tokens; longer texts get one message, as each message costs a parse


def parse(text: str, name: str = "<text>") -> ast.Program:
    """Parse a `.dpg` program.

    After a syntax error the statement or header at fault is replaced by a harmless one and the
    text is parsed again, so that one mistake gives one message and all are found.
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
            syntax_errors.report_unexpected(stream, error.token, parser.action[parser.state])
            if len(tokens) > _LONGEST_RECOVERED:
                break
            tokens = syntax_errors.without_error(
                tokens, len(tokens) if error.token is None else stream.position
            )
    problems.finish()
    assert isinstance(program, ast.Program)
    return program


class _Unexpected(Exception):
    """The parser has no use for a token; None is the end of the text."""

    def __init__(self, token: Any) -> None:
        super().__init__()
        self.token = token


def _raise_unexpected(token: Any) -> None:
    raise _Unexpected(token)


GRAMMAR = Grammar(
    name="dpg",
    start="program",
    tokens=TOKENS,
    precedence=expression_grammar.precedence,
    rules=rules_in(*map(vars, (expression_grammar, statement_grammar))),
    error=_raise_unexpected,
)

_parser = cache(GRAMMAR.load)
