"""Certificates of small programs, and the same with something changed."""

import copy
import json
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import dipapprox
from dipapprox import Claim, Outcome, UserError
from dipapprox.replays.result import digest, text_hash
from tests.kernel.edits import places_in, with_at

PROGRAMS = Path(__file__).parent.parent.parent / "programs"

Fields = dict[str, Any]


def certificate(
    path: Path, parameters: dict[str, Fraction], claim: Claim, pairs: str = "all"
) -> Fields:
    """Verify, certify, and return the certificate as a file would have it."""
    return certified(path.read_text(encoding="utf-8"), parameters, claim, pairs)


def certified(
    text: str, parameters: dict[str, Fraction], claim: Claim, pairs: str = "all"
) -> Fields:
    """Verify a program by its text, and certify the verdict."""
    program = dipapprox.parse(text, parameters)
    eps_prv, delta = claim.eps_prv, claim.delta
    verdict = dipapprox.verify(program, eps=claim.eps, eps_prv=eps_prv, delta=delta, pairs=pairs)
    fields = json.loads(dipapprox.certify(program, text, verdict, pairs=pairs).to_json())
    assert isinstance(fields, dict)
    return fields


def signed(fields: Fields) -> Fields:
    """Return the certificate with a digest that fits: what a careful forger does."""
    return {**fields, "digest": digest(fields)}


def replaced(fields: Fields, place: Sequence[str | int], value: object) -> Fields:
    """Return a copy with another value at a place; the digest stays."""
    assert dict(places_in(fields))[*place] != value
    changed = with_at(copy.deepcopy(fields), tuple(place), value)
    assert isinstance(changed, dict)
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
            outcome = dipapprox.check(changed).outcome
        except UserError:
            assert not same, place
        else:
            assert outcome is (Outcome.CONFIRMED if same else Outcome.REFUTED), place
