"""Running command lines inside the test process, as `app.main` does."""

import json
from fractions import Fraction
from io import StringIO
from typing import Any

import pytest

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.cli import app
from dipapprox.cli.app import join_negative_values
from dipapprox.cli.output import Output
from tests.schemas import check_schema, schema_of


def run(*words: str) -> tuple[int, str]:
    """Run a command line; return the status and what went to standard output."""
    out = StringIO()
    joined = join_negative_values(words)
    parsed = app.build_parser(joined).parse_args(joined)
    status = app.run(parsed, Output(out, 100))
    return status, out.getvalue()


def run_json(*words: str) -> tuple[int, dict[str, Any]]:
    """Run a command line with --json; its output is one object on one line, as its schema says."""
    status, text = run(*words, "--json")
    assert text.count("\n") == 1
    fields = json.loads(text, parse_constant=pytest.fail)
    assert isinstance(fields, dict)
    if words[0] != "show":  # whose machines certificates have, too
        check_schema(schema_of(words[0], fields), fields)
    return status, fields


def enclosure(ends: list[str]) -> Enclosure:
    """Read an enclosure's two decimal strings."""
    return Enclosure(Fraction(ends[0]), Fraction(ends[1]))
