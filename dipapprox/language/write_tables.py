"""python -m dipapprox.language.write_tables: the parser tables, after a grammar has changed."""

from __future__ import annotations

from dipapprox.language import dip, dipa, parser

GRAMMARS = (parser.GRAMMAR, dip.GRAMMAR, dipa.GRAMMAR)


def main() -> None:
    """Write the tables of all grammars, and say where."""
    for grammar in GRAMMARS:
        grammar.path.write_text(grammar.describe(), encoding="utf-8")
        print(f"wrote {grammar.path}")


if __name__ == "__main__":
    main()
