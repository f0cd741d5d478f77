"""What an answer says, in a form that no redesign of its JSON changes: verdict, ends, witness.

    status    verdict    ends                                   witness
    1         Not_DP     delta_enclosure: 0.0239… to 0.0240…    1f2e3d4c

`ends` holds every enclosure of an answer by its place in the JSON object, those of its witness
left out: they belong to the pair that was found, and another may be found as well. `witness` is a
digest of pair and outputs.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import Any

Number = Fraction | float
"""An exact number, or an infinity."""

_WITNESSED = ("eps", "input", "adjacent", "outputs")
_SKIPPED = ("witness", "detail", "eps_prv_at_certified", "eps_prv_at_refuted")
"""What belongs to the witness, or to the ε at which a calibration happened to end."""

PROVED = "proved"

MOST_WORDS = 72
"""Characters of a reason."""


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        status: Of the command.
        verdict: "DP", "Not_DP", "Unknown"; None where the question is not for one.
        ends: The two ends of every enclosure as printed, "inf" for infinity, by place.
        witness: A digest of it; None without one.
        proof: `PROVED`, or why there is no proof; None where none is asked for.
        said: Why there is no more than that, in the command's words. No part of the data.
    """

    status: int
    verdict: str | None = None
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    witness: str | None = None
    proof: str | None = None
    said: str = field(default="", compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return what is said as plain data; what is None or empty is left out."""
        kept = {name: value for name, value in vars(self).items() if name != "said"}
        return {name: value for name, value in kept.items() if value or name == "status"}

    @staticmethod
    def from_dict(fields: dict[str, Any]) -> Answer:
        """Invert `to_dict`."""
        ends = {place: (low, high) for place, (low, high) in fields.get("ends", {}).items()}
        return Answer(**{**fields, "ends": ends})


def read_answer(status: int, output: str, errors: str = "") -> Answer:
    """Read what a command with --json printed.

    Args:
        status: Its exit status.
        output: Standard output: one JSON object, or nothing.
        errors: Standard error.
    """
    if not output:
        return Answer(status, said=errors.strip())
    fields = json.loads(output)
    ends: dict[str, tuple[str, str]] = {}
    _gather(fields, "", ends)
    reason = fields.get("detail") or fields.get("reason") or ""
    why = re.search(r"no proof[^:]*: (.*)", str(reason))
    proof = PROVED if fields.get("proved") else why and why[1][:MOST_WORDS]
    said = str(reason or errors).strip()
    return Answer(status, fields.get("verdict"), ends, _digest(fields.get("witness")), proof, said)


def _gather(value: Any, place: str, ends: dict[str, tuple[str, str]]) -> None:
    """Collect the enclosures below a place."""
    match value:
        case [str() | None as low, str() | None as high] if _is_enclosure(place):
            ends[place] = ("-inf" if low is None else low, "inf" if high is None else high)
        case {"lower": low, "upper": high, "exact": bool()}:
            ends[place] = ("-inf" if low is None else low, "inf" if high is None else high)
        case dict():
            for name, inner in value.items():
                if name not in _SKIPPED:
                    _gather(inner, f"{place}.{name}" if place else name, ends)
        case list():
            for number, inner in enumerate(value):
                _gather(inner, f"{place}.{_name_of(inner, number)}", ends)


def _is_enclosure(place: str) -> bool:
    name = place.rpartition(".")[2]
    return name.endswith("enclosure") or name == "probability"


def _name_of(value: Any, number: int) -> str:
    """Name an entry of a list by what it is about: an output, an order, an ε_prv; or its number."""
    if isinstance(value, dict):
        for name in ("output", "order", "eps_prv"):
            if name in value:
                return json.dumps(value[name], ensure_ascii=False, separators=(",", ":"))
    return str(number)


def _digest(witness: Any) -> str | None:
    if not witness:
        return None
    told = {name: witness[name] for name in _WITNESSED if name in witness}
    if isinstance(told.get("outputs"), list):
        told["outputs"] = sorted(json.dumps(each, sort_keys=True) for each in told["outputs"])
    text = json.dumps(told, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def number(text: str) -> Number:
    """Read one end of an enclosure, exactly."""
    return float(text) if text.endswith("inf") else Fraction(text)


def meets(first: tuple[str, str], second: tuple[str, str]) -> bool:
    """Whether two enclosures have a number in common."""
    (low, high), (lower, upper) = map(number, first), map(number, second)
    return low <= upper and lower <= high


def width(ends: tuple[str, str]) -> Number:
    """How wide an enclosure is; infinities at both ends are one number."""
    low, high = map(number, ends)
    return Fraction(0) if low == high else inf if inf in (high, -low) else high - low


def printed_unit(ends: tuple[str, str]) -> Fraction:
    """The value of the last digit of what is printed; 2^-40, a default precision, for fractions."""
    units = [Fraction(1, 2**40)]
    for text in ends:
        digits, _, exponent = text.partition("e")
        whole, point, decimals = digits.partition(".")
        if point and whole.lstrip("-").isdigit():
            units.append(Fraction(10) ** (int(exponent or 0) - len(decimals)))
    return units[-1] if len(units) == 2 else max(units[1:], default=units[0])
