"""Certificates of small programs, and the same with something changed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from dipapprox.certificates.digest import digest, text_hash
from dipapprox.checking.check import check
from dipapprox.errors import UserError
from dipapprox.language.load import language_of, load, read_text
from dipapprox.privacy.certificate import ProgramText, certify
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.selection import select
from dipapprox.privacy.verifier import verify
from dipapprox.replays.result import Outcome

PROGRAMS = Path(__file__).parent.parent.parent / "programs"

Fields = dict[str, Any]


def certificate(
    path: Path, parameters: dict[str, Fraction], claim: Claim, pairs: str = "all"
) -> Fields:
    """Verify, certify, and return the certificate as a file would have it."""
    program = load(path, parameters)
    selection = select(pairs, program)
    options = Options()
    verdict = verify(program, claim, selection, options)
    source = ProgramText(path.stem, language_of(path), read_text(path))
    fields = json.loads(certify(program, source, verdict, selection, options).to_json())
    assert isinstance(fields, dict)
    return fields


def signed(fields: Fields) -> Fields:
    """Return the certificate with a digest that fits: what a careful forger does."""
    return {**fields, "digest": digest(fields)}


def replaced(fields: Fields, place: Sequence[str | int], value: object) -> Fields:
    """Return a copy with another value at a place; the digest stays."""
    changed = copy.deepcopy(fields)
    inner: Any = changed
    for step in place[:-1]:
        inner = inner[step]
    assert inner[place[-1]] != value
    inner[place[-1]] = value
    return changed


def retold(fields: Fields, text: str) -> Fields:
    """Return a copy about another program, with its hash and a digest that fit."""
    changed = replaced(fields, ("program", "text"), text)
    changed["program"]["sha256"] = text_hash(text)
    return signed(changed)


def check_changes_are_noticed(fields: Fields, seed: str, count: int) -> None:
    """Change one character of a certificate's text, again and again: only blanks do not matter."""
    text = json.dumps(fields)
    draw = random.Random(seed)
    for _ in range(count):
        place = draw.randrange(len(text))
        changed = text[:place] + draw.choice('0123456789abcxyz ",[]-') + text[place + 1 :]
        try:
            same = json.loads(changed) == fields
        except json.JSONDecodeError:
            same = False
        try:
            outcome = check(changed).outcome
        except UserError:
            assert not same, place
        else:
            assert outcome is (Outcome.CONFIRMED if same else Outcome.REFUTED), place


def places(item: object, where: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the places of all numbers and strings in a JSON value."""
    if isinstance(item, dict):
        return [p for name, value in item.items() for p in places(value, (*where, name))]
    if isinstance(item, list):
        return [p for k, value in enumerate(item) for p in places(value, (*where, k))]
    return [where]


def at(fields: Fields, place: Sequence[str | int]) -> Any:
    """Return the value at a place."""
    inner: Any = fields
    for step in place:
        inner = inner[step]
    return inner
