"""Words for signs that a terminal may not have: "eps" for ε where the encoding is ASCII.

`register()` makes the error handler `HANDLER` known to Python's streams; what is laid out in
columns is passed through `shown` before, so that the columns keep their width.
"""

from __future__ import annotations

import codecs
import sys

from dipapprox.source import visible_lines

HANDLER = "dipapprox.words"

_WORDS = {
    "ε": "eps", "δ": "delta", "α": "alpha", "λ": "lambda", "σ": "sigma", "μ": "mu", "é": "e",
    "∞": "inf", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "·": "*", "×": "x", "−": "-", "–": "-",
    "—": "-", "→": "->", "∈": "in", "∪": "or", "²": "^2", "√": "sqrt ", "…": "...", "‘": "'",
    "’": "'", "│": "|",
}  # fmt: skip


def register() -> None:
    codecs.register_error(HANDLER, _words)


def _words(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    return "".join(_WORDS.get(sign, "?") for sign in signs), error.end


def shown(text: str) -> str:
    """Return what standard output will show of a text; nothing of it steers a terminal."""
    text = visible_lines(text)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    if encoding.lower().replace("-", "") == "utf8":
        return text
    register()
    return text.encode(encoding, errors=HANDLER).decode(encoding)
