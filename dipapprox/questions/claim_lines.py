"""The lines of a program, or of the docstring of a Python function, that are claims.

In: texts. Out: the word before the colon, and where the rest is; `claims` reads it.

Nobody is told that what is not read holds: lines that begin as a claim does but are none are errors
("# Claim: …", "# clam: …", "# claim DP …", "N = 3  # claim: …"), and so is, in Python, what stands
elsewhere than in the docstring of a mechanism.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from inspect import cleandoc
from io import StringIO
from pathlib import Path
from tokenize import COMMENT, generate_tokens

from dipapprox.errors import Diagnosis
from dipapprox.source import SourceFile, Span

WORDS = ("claim", "expected", "decide", "prove")  # what stands in front of the colon
_CLAIMING = re.compile(rf"^[ \t]*(?:{'|'.join(WORDS)}):", re.MULTILINE)


def has_claims(file: Path) -> bool:
    """Whether a mechanism in a file of Python claims something: files without are not read on.
    One with a mistake that stops Python may, if it speaks of both."""
    text = file.read_text(encoding="utf-8", errors="replace")
    if _CLAIMING.search(text) is None:
        return False
    try:
        functions = [each for each in ast.parse(text).body if isinstance(each, ast.FunctionDef)]
    except (SyntaxError, ValueError):
        return "mechanism" in text
    return any(
        _CLAIMING.search(ast.get_docstring(each) or "") is not None
        for each in functions
        if any("mechanism" in ast.dump(decorator) for decorator in each.decorator_list)
    )


_LINE = re.compile(rf"[ \t]*(?:#[ \t]*)?({'|'.join(WORDS)}):[ \t]*(.+?)[ \t]*")
_ANSWER = re.compile(r"\W*(?:(?:not[_ -]?)?dp|unknown|refused|least\s+budget)\b", re.I)
_BEGINNING = re.compile(r"""(?:[rRuU]?["'])?[\W_]*([^\W\d_]+)[ \t]*(:?)(.*)""")
_HINT = "a claim is a line of its own: '# claim: DP at eps = 1, delta = 0'"
_PYTHON_HINT = "claims of a mechanism are lines of its docstring: 'claim: DP at eps = 1, delta = 0'"


def claim_lines(
    source: SourceFile, diagnosis: Diagnosis, *, docstring: bool = False
) -> Iterator[tuple[str, Span]]:
    """Yield the claims of a program: the word before the colon, and where the rest is.

    Args:
        diagnosis: Takes the lines that are none, but begin like one.
        docstring: Whether all lines are comments, also those without "#".
    """
    for start, line in _lines(source.text):
        read = _LINE.fullmatch(line)
        if read is not None:
            yield read[1], Span(source, start + read.start(2), start + read.end(2))
            continue
        sign = line.find("#")
        if sign >= 0 and _is_meant(line[sign:]):
            _report(diagnosis, source, start + sign, line[sign:], _HINT)
        elif docstring and _is_meant(line):
            _report(diagnosis, source, start, line, _PYTHON_HINT)


def report_elsewhere(source: SourceFile, docstrings: Collection[str], diagnosis: Diagnosis) -> None:
    """Report what looks like a claim in a file of Python, but is in no docstring of a mechanism."""
    lines = list(_lines(source.text))
    for token in generate_tokens(StringIO(source.text).readline):
        if token.type == COMMENT and _is_meant(token.string):
            row, column = token.start
            place = lines[row - 1][0] + column
            _report(diagnosis, source, place, token.string, _PYTHON_HINT)
    read = {cleandoc(each) for each in docstrings}
    for node in ast.walk(ast.parse(source.text)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        found = ast.get_docstring(node)
        if found is None or found in read:
            continue
        text = node.body[0]
        for start, line in lines[text.lineno - 1 : text.end_lineno]:
            if _is_meant(line):
                _report(diagnosis, source, start, line, _PYTHON_HINT)


def _lines(text: str) -> Iterator[tuple[int, str]]:
    start = 0
    for line in text.split("\n"):
        yield start, line
        start += len(line) + 1


def _report(diagnosis: Diagnosis, source: SourceFile, start: int, text: str, hint: str) -> None:
    begin = start + len(text) - len(text.lstrip())
    span = Span(source, begin, start + len(text.rstrip()))
    diagnosis.report("claim error", "this would not be read as a claim", span, hint)


def _is_meant(comment: str) -> bool:
    """Tell whether a comment begins as a claim does.

    "claim" and what one slip makes of it, before a colon or an answer; the other words only before
    both, as prose has them.
    """
    beginning = _BEGINNING.match(comment.strip())
    if beginning is None:
        return False
    word, colon, rest = beginning[1].casefold(), bool(beginning[2]), beginning[3]
    answers = _ANSWER.match(rest) is not None
    if _is_near(word, WORDS[0]):
        return colon or answers
    return colon and answers and any(_is_near(word, each) for each in WORDS)


def _is_near(word: str, known: str) -> bool:
    """Tell whether two words differ by at most one letter, or by two neighbours that changed."""
    for k in range(len(known) + 1):
        if word[:k] == known[:k]:
            one, other = word[k:], known[k:]
            if one[1:] == other[1:] or one[1:] == other or one == other[1:]:
                return True
            if one[2:] == other[2:] and one[:2] == other[1::-1]:
                return True
    return False
