"""Grammars as PLY rules, and their LALR(1) tables: generated once, kept beside this file.

    rules  --build: PLY, 50 ms-->  a parser  --describe-->  tables/<name>.json
    rules + tables/<name>.json  --load: 1 ms-->  the same parser

`python -m dipapprox.language.write_tables` (`make grammar`) writes the files when a grammar has
changed; a test compares them with what the rules say.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ply import yacc

from dipapprox.data_classes import Record

TABLES = Path(__file__).parent / "tables"


class Grammar(Record, eq=False):
    """What PLY makes a parser of."""

    name: str  # of the file with the tables
    start: str  # the symbol that a whole text is
    tokens: tuple[str, ...]
    precedence: tuple[tuple[str, ...], ...]
    # Functions p_… by their names, with productions in their docstrings.
    rules: Mapping[str, Callable[[Any], None]]
    error: Callable[[Any], None]  # called with an unexpected token, None at the end of the text

    @property
    def path(self) -> Path:
        """The file with the tables."""
        return TABLES / f"{self.name}.json"

    def load(self) -> Any:
        """Make the parser from its tables on disk."""
        text = json.loads(self.path.read_text(encoding="utf-8"))
        tables = yacc.LRTable()
        tables.lr_productions = [
            yacc.MiniProduction(written, symbol, length, rule, "", 0)
            for written, symbol, length, rule in text["productions"]
        ]
        tables.lr_action = dict(enumerate(text["actions"]))
        tables.lr_goto = dict(enumerate(text["gotos"]))
        tables.bind_callables(self.rules)
        parser = yacc.LRParser(tables, self.error)
        # With default reductions an error would be noticed too late to say what was expected, or
        # to resume in the right place.
        parser.disable_defaulted_states()
        return parser

    def build(self, **options: Any) -> Any:
        """Make the parser from the rules alone."""
        rule: Any
        for place, rule in enumerate(self.rules.values()):
            # PLY takes rules in the order of their lines, whichever module they stand in: tables
            # would change with the length of a comment.
            rule.co_firstlineno = place
        namespace = SimpleNamespace(
            __file__=__file__,
            tokens=self.tokens,
            precedence=self.precedence,
            p_error=self.error,
            **self.rules,
        )
        return yacc.yacc(
            module=namespace, start=self.start, write_tables=False, tabmodule="no_table", **options
        )

    def describe(self) -> str:
        """Write the tables down: JSON, one line for each production and each row."""
        parser = self.build(debug=False, errorlog=yacc.NullLogger())
        states = range(len(parser.action))
        return _json(
            productions=[[str(p), p.name, p.len, p.func] for p in parser.productions],
            actions=[dict(sorted(parser.action[state].items())) for state in states],
            gotos=[dict(sorted(parser.goto[state].items())) for state in states],
        )


def rules_in(*namespaces: Mapping[str, Any]) -> dict[str, Callable[[Any], None]]:
    """Return the rules among the names of modules."""
    return {
        name: rule
        for namespace in namespaces
        for name, rule in namespace.items()
        if name.startswith("p_") and name != "p_error"
    }


def _json(**lists: list[Any]) -> str:
    parts = (
        f"{json.dumps(name)}: [\n" + ",\n".join(map(json.dumps, rows)) + "\n]"
        for name, rows in lists.items()
    )
    return "{\n" + ",\n".join(parts) + "\n}\n"
