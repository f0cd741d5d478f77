"""Certificates of other automata, digest and hash renewed: what is confirmed is true.

The oracle is the analysis of the automaton that the forged file has.
"""

from __future__ import annotations

import copy
import json
import random
import re

import pytest

from dipapprox.automata.analysis import Analysis, analyse
from dipapprox.automata.description import automaton_of, text_of
from dipapprox.automata.stops import with_visible_stops
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.checking.claims import BudgetClaim
from dipapprox.checking.result import CheckResult
from dipapprox.errors import UserError
from dipapprox.language.dipa import parse_dipa
from dipapprox.language.dipa_printer import print_dipa
from dipapprox.limits import Limits
from dipapprox.proofs.automaton_certificate import certify_budget, without_evidence
from dipapprox.proofs.automaton_proof import Stops
from dipapprox.replays.result import Outcome
from tests.automata.random_automata import random_automaton
from tests.checking.budgets.proved import proved
from tests.checking.certified import Fields, at, signed
from tests.checking.test_forgeries import places

TOKEN = re.compile(r">=|<|q\d|o\d|o[ab]|x\d|:non-input|\d+(/\d+)?|insampleprime|insample")
WORDS = ["0", "1", "2", "1/2", "1/3", "q0", "q1", "q2", "q3", "x0", "x1", "oa", "o1", "insample",
         "insampleprime", "<", ">="]  # fmt: skip


def honest(seed: int) -> Fields | None:
    """The certificate of a random automaton; None if it has none."""
    text = print_dipa(text_of(random_automaton(seed, 2, 4, distinct=bool(seed % 3))))
    proof = proved(text, stops=Stops.VISIBLE if seed % 2 else Stops.HIDDEN)
    if without_evidence(proof) is not None:
        return None
    fields = json.loads(certify_budget(proof, text, Limits()).to_json())
    assert isinstance(fields, dict)
    return fields


def forged(fields: Fields, draw: random.Random) -> Fields:
    """Change a word of the automaton, something in the evidence, or what is claimed."""
    changed = copy.deepcopy(fields)
    for _ in range(draw.choice([1, 1, 2])):
        part = draw.choice(["program", "program", "evidence", "least_budget", "stops", "verdict"])
        if part == "program":
            text = changed["program"]["text"]
            token = draw.choice(list(TOKEN.finditer(text)))
            text = text[: token.start()] + draw.choice(WORDS) + text[token.end() :]
            changed["program"] |= {"text": text, "sha256": text_hash(text)}
            continue
        place = draw.choice(places(changed[part], (part,)))
        value = at(changed, place)
        new: object = value
        if isinstance(value, list) and value:
            k = draw.randrange(len(value))
            new = draw.choice([value[:k] + value[k + 1 :], [*value, value[k]], value[::-1], []])
        elif isinstance(value, int) and not isinstance(value, bool):
            new = draw.choice([value + 1, value - 1, 0, 1, None])
        elif isinstance(value, str):
            new = draw.choice(["DP", "Not_DP", "LC", "LP", "0", "1", "1/2", "x0", "x1", value])
        elif value is None:
            new = draw.choice([0, 1, 2])
        at(changed, place[:-1])[place[-1]] = new
    return signed(changed)


def analysed(fields: Fields) -> Analysis:
    automaton = automaton_of(parse_dipa(fields["program"]["text"]))
    if fields["stops"]["kind"] == "visible":
        automaton = with_visible_stops(automaton)
    return analyse(automaton, Limits())


def is_true(result: CheckResult, found: Analysis) -> bool:
    claim = result.claim
    assert isinstance(claim, BudgetClaim)
    if claim.unbounded:
        return found.unbounded
    if found.upper_bound is None:
        return claim.upper is None
    return claim.lower <= found.upper_bound and (
        claim.upper is None or found.lower_bound <= claim.upper
    )


@pytest.mark.parametrize("seed", range(20))
def test_what_is_confirmed_is_true(seed: int) -> None:
    fields = honest(seed)
    if fields is None:
        return
    draw = random.Random(seed)
    for _ in range(30):
        changed = forged(fields, draw)
        try:
            result = check(changed)
        except UserError:
            continue
        if result.outcome is Outcome.CONFIRMED:
            assert is_true(result, analysed(changed)), changed["program"]["text"]
