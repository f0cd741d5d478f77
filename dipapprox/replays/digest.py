"""What notices changes: the hash of a certificate's program, and the digest of all that it says.

The digest is the SHA-256 of the object without it, written as JSON with sorted keys, no blanks,
UTF-8: it notices every change that does not renew it. A renewed digest proves nothing; what the
file says is then judged by itself (`check`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def digest(fields: Mapping[str, object]) -> str:
    """Return the digest of a certificate's fields, whatever they say under "digest".

    Raises:
        UnicodeEncodeError: If a text has half a character (a lone surrogate).
    """
    content = {name: value for name, value in fields.items() if name != "digest"}
    return f"sha256:{text_hash(_ENCODER.encode(content))}"


def text_fields(name: str, language: str, text: str) -> dict[str, str]:
    """Return a program's text as files have it."""
    return {"name": name, "language": language, "text": text, "sha256": text_hash(text)}


def text_hash(text: str) -> str:
    """Return the SHA-256 of a text in UTF-8, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
