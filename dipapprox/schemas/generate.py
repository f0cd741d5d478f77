"""The JSON Schemas of the package, made from types: certificates, and what --json prints.

`python -m dipapprox.schemas.generate` writes them beside this file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from inspect import cleandoc
from pathlib import Path

from msgspec import Struct
from msgspec.json import schema_components

from dipapprox.schemas import answers, files, guarantees
from dipapprox.schemas.answers import RATIONAL

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_Types = Iterable[type[Struct]]

SCHEMAS: dict[str, tuple[str, _Types]] = {
    "certificate": (
        "a proof: --certificate of dipapprox verify and the other judging commands",
        (files.ProofOfAnswer, files.ProofOfBudget, files.ProofOfService, files.ProofOfPipeline),
    ),
    "verify": ("dipapprox verify --json", answers.VERIFY),
    "verify_interval": ("dipapprox verify --eps LO..HI --json", answers.INTERVAL),
    "check": ("dipapprox check --json", files.CHECK),
    "probability": ("dipapprox probability --json", (answers.Probability,)),
    "explain": ("dipapprox explain --json", (answers.Explanation,)),
    "closed_form": ("dipapprox explain --closed-form --json", (answers.ClosedForm,)),
    "decide": ("dipapprox decide --json", guarantees.DECIDE),
    "profile": (
        "dipapprox profile --json",
        (guarantees.DeltaAt, guarantees.BudgetAt, guarantees.Curve, guarantees.Renyi),
    ),
    "compose": ("dipapprox compose --json", (*guarantees.COMPOSED, *guarantees.CLAIMED)),
    "calibrate": ("dipapprox calibrate --json", (guarantees.Calibration,)),
    "prove": ("dipapprox prove --json", files.PROVE),
    "test": ("dipapprox test --json", (answers.ClaimsTested,)),
}
"""The title of every schema, and the types one of which what it describes has."""


def _enclosed_unless_rational(field: str, enclosure: str) -> dict[str, object]:
    """A claim that is no rational number comes with its enclosure."""
    rational = {"properties": {field: {"pattern": RATIONAL}}}
    return {"if": rational, "else": {"required": [enclosure]}}


_CONDITIONS = {
    "verify": [
        _enclosed_unless_rational("eps_prv", "eps_prv_enclosure"),
        _enclosed_unless_rational("delta", "delta_claim_enclosure"),
    ]
}


def schema_texts() -> dict[str, str]:
    """Return the text of each file by the name of its schema."""
    return {
        name: json.dumps(_normal(_schema(name, *kind)), indent=2, ensure_ascii=False) + "\n"
        for name, kind in SCHEMAS.items()
    }


def _schema(name: str, title: str, types: _Types) -> dict[str, object]:
    refs, found = schema_components(types, ref_template="#/$defs/{name}")
    conditions = {"allOf": _CONDITIONS[name]} if name in _CONDITIONS else {}
    return {
        "$schema": _DIALECT,
        "title": title,
        "anyOf": list(refs),
        **conditions,
        "$defs": dict(sorted(found.items())),
    }


def _normal(part: object) -> object:
    """Write what versions of msgspec and Python write differently in one way.

    Alternatives are in an order of their own, and docstrings without the class's indentation.
    """
    match part:
        case dict():
            inner = {name: _normal(value) for name, value in part.items()}
            match inner:
                case {"description": str(text)}:
                    inner["description"] = cleandoc(text)
            match inner:
                case {"anyOf": list(alternatives)}:
                    return {**inner, "anyOf": sorted(alternatives, key=json.dumps)}
            return inner
        case list():
            return [_normal(each) for each in part]
        case _:
            return part


def main() -> None:
    for name, text in schema_texts().items():
        Path(__file__).with_name(f"{name}.schema.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
