"""Certificates with something changed and the digest renewed: what is confirmed is true.

The oracle is the run itself, asked again about what the changed file claims.
"""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

import dipapprox
from dipapprox.certificates.digest import text_hash
from dipapprox.checking.check import check
from dipapprox.errors import LimitReached, UserError
from dipapprox.limits import Limits
from dipapprox.replays.result import Outcome
from tests.checking.certified import Fields, at, signed
from tests.checking.test_loops import RACE

HEAD = "input q in {0, 1}\noutput out in 0..2\nadjacent linf 1\nout <- 0\n"

PROGRAMS = {
    "compared": HEAD + "x <- Lap(q, 1/eps)\ny <- LapPlus(0, 2/eps)\nif x > y then out <- 1 end\n",
    "summed": HEAD + "x <- Lap(q, 2/eps)\ny <- Lap(0, 1/eps)\nz <- Lap(1, 1/eps)\n"
    "if x + y > z then out <- 1 end\n",
    "whole": HEAD + "x <- DLap(q, 1/eps)\ny <- DLap(0, 2/eps)\nif x = y then out <- 1 end\n"
    "if x + y > 2 then out <- 2 end\n",
    "chosen": HEAD + "out <- choose {q : exp(eps/2) / (1 + exp(eps/2)), "
    "1 - q : 1 / (1 + exp(eps/2))}\n",
    "looped": RACE.replace("1/3, 2 : 1/6", "1/3 + q/24, 2 : 1/6 - q/24"),
    "gaussian": HEAD + "x <- Gauss(q, 2/eps)\ny <- Gauss(0, 1)\n"
    "if x + y > 1 then out <- 1 end\n",
    "published": HEAD.replace("adjacent", "output y in real\nadjacent") + "x <- Lap(q, 2/eps)\n"
    "z <- Gauss(0, 1)\ny <- 2\nif x > 1 then\n out <- 1\n y <- x\n"
    "elif z > x then\n out <- 2\n y <- 3 * z - 1\nend\n",
}  # fmt: skip

TOKEN = re.compile(r"\d+|<-|[<>+*/=-]|DLap|LapPlus|Lap|Gauss|linf|eps")
WORDS = ["0", "1", "2", "3", "<", ">", "+", "-", "*", "Lap", "LapPlus", "DLap", "eps", "(eps-1)"]


def honest(text: str, claim: Sequence[Fraction | str]) -> Fields | None:
    """Certify what the run says of (ε, ε_prv, δ); None: nothing."""
    eps, budget, delta = claim
    program = dipapprox.parse(text)
    options = dipapprox.Options(limits=Limits(seconds=5))
    try:
        asked = dipapprox.Claim(Fraction(eps), Fraction(delta), Fraction(budget))
        found: Any = dipapprox.verify(
            program, eps=asked.eps, eps_prv=asked.eps_prv, delta=asked.delta, options=options
        )
        fields = json.loads(dipapprox.certify(program, text, found).to_json())
    except (UserError, LimitReached):
        return None
    assert isinstance(fields, dict)
    return fields


def claim_of(fields: Fields) -> tuple[str, str, str]:
    claim = fields["claim"]
    return claim["eps"], claim["eps_prv"], claim["delta"]


def places(item: object, where: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    """Everything in a JSON value, lists included."""
    inner = (
        item.items()
        if isinstance(item, dict)
        else enumerate(item)
        if isinstance(item, list)
        else ()
    )
    return [where, *(place for name, value in inner for place in places(value, (*where, name)))]


def forged(fields: Fields, draw: random.Random) -> Fields:
    """Change one thing, or two, and renew hash and digest."""
    changed = copy.deepcopy(fields)
    for _ in range(draw.choice([1, 1, 2])):
        part = draw.choice(
            ["program", "claim", "claim", "pairs", "verdict", "evidence", "evidence"]
        )
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
            new = draw.choice([value + 1, value - 1, 0, 1])
        elif isinstance(value, str):
            try:
                number = Fraction(value)
            except ValueError:
                new = draw.choice(["DP", "Not_DP", "Unknown", "confirmed", "inf", "0", "constant"])
            else:
                few = Fraction(1, 10**6)
                new = str(
                    draw.choice([number * 2, number / 2, -number, number + few, number - few])
                )
        inner = at(changed, place[:-1])
        inner[place[-1]] = new
    return signed(changed)


def contradiction(fields: Fields) -> str | None:
    """What the run says against a certificate; None: nothing."""
    text = fields["program"]["text"]
    listed = fields["pairs"]["list"]
    if listed is not None:
        return None  # tested elsewhere
    true = honest(text, claim_of(fields))
    if true is None:
        return None
    if true["verdict"] != fields["verdict"]:
        return f"the verdict is {true['verdict']}"
    if fields["verdict"] == "DP":
        if fields["evidence"]["kind"] == "divergences" and _sets(true) is not None:
            for key, (low, high) in (_sets(fields) or {}).items():
                least, most = (_sets(true) or {}).get(key, (low, high))
                if high < least or most < low:
                    return f"the divergence or probability of {key}"
        low, high = (Fraction(end) for end in fields["delta_enclosure"])
        least, most = (Fraction(end) for end in true["delta_enclosure"])
        if high < least or most < low or fields["pairs"]["count"] != true["pairs"]["count"]:
            return "δ or the pairs"
        said, known = (_probabilities(each["evidence"]) for each in (fields, true))
        for key, (low, high) in said.items():
            least, most = known.get(key, (low, high))
            if high < least or most < low:
                return f"the probability of {key}"
    return None


def _sets(fields: Fields) -> dict[str, tuple[Fraction, Fraction]] | None:
    """What is said of pairs and of sets of numbers; None: the file says nothing of them."""
    evidence = fields["evidence"]
    if evidence["kind"] != "divergences":
        return None
    found = {}
    for pair in evidence["pairs"]:
        name = f"{pair['input']} {pair['adjacent']}"
        said = [(name, pair["delta_enclosure"])]
        for each in pair["outcomes"]:
            where = f"{name} {each['output']} {each['constants']} {each['number']}"
            where += str(each["intervals"])
            said += [(where, each["probability"]), (f"{where} -", each["adjacent_probability"])]
        found |= {key: (Fraction(ends[0]), Fraction(ends[1])) for key, ends in said}
    return found


def _probabilities(evidence: Fields) -> dict[tuple[str, str], tuple[Fraction, Fraction]]:
    found: dict[tuple[str, str], tuple[Fraction, Fraction]] = {}
    if evidence["kind"] != "distributions":
        return found
    for recorded in evidence.get("inputs", []):
        for output, k in zip(evidence["outputs"], recorded["probabilities"], strict=False):
            lower, upper = map(Fraction, evidence["probabilities"][k])
            found[str(recorded["input"]), str(output)] = lower, upper
    return found


# The run takes its time over sums of three at one ε.
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "summed"])
def test_what_is_confirmed_of_a_changed_certificate_is_true(name: str) -> None:
    draw = random.Random(f"{name} verify")
    text = PROGRAMS[name]
    outcomes = set()
    for claim in [("1", "1", "1/10"), ("1", "1/4", "1/100")]:
        fields = honest(text, claim)
        if fields is None:
            continue
        assert check(fields).outcome is Outcome.CONFIRMED
        for _ in range(12):
            changed = forged(fields, draw)
            try:
                outcome = check(json.dumps(changed), Limits(seconds=5)).outcome
            except UserError:
                continue
            outcomes.add(outcome)
            if outcome is Outcome.CONFIRMED:
                assert contradiction(changed) is None, changed
    assert Outcome.REFUTED in outcomes
