"""The JSON Schemas in the package."""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.resources import files
from typing import Any

import msgspec
from jsonschema import Draft202012Validator

from dipapprox.schemas.generate import SCHEMAS

OPTIONAL = {
    "profile": {"precision"},
    "prove": {"caveat", "params"},
    "verify": {"delta_claim_enclosure", "eps_prv_enclosure", "precision"},
    "verify_interval": {"precision"},
}
"""Fields that an output may lack, by schema, besides `proved` and `why`: said here once more, as
the schemas are tested."""


@cache
def validator(name: str) -> Draft202012Validator:
    text = files("dipapprox").joinpath(f"schemas/{name}.schema.json").read_text(encoding="utf-8")
    return Draft202012Validator(json.loads(text))


def check_schema(name: str, fields: dict[str, Any]) -> None:
    """Check that an output suits its schema, and that only optional fields can be left out and none
    be something else."""
    suit(name, fields)
    found = validator(name)
    assert not found.is_valid({**fields, "delta_enclosure": ["0"], "outputs": -1, "states": 0})
    for field in set(fields) - OPTIONAL.get(name, set()) - {"proved", "why"}:
        assert not found.is_valid({k: v for k, v in fields.items() if k != field}), field


def suit(name: str, fields: dict[str, Any]) -> None:
    """Check that an output suits its schema, and that one of the types that the schema is made from
    reads it, and writes the same."""
    validator(name).validate(fields)
    (read,) = _read(SCHEMAS[name][1], fields)
    assert json.loads(msgspec.json.encode(read)) == fields


def _read(kinds: Iterable[type[msgspec.Struct]], fields: dict[str, Any]) -> Iterator[object]:
    for kind in kinds:
        with suppress(msgspec.ValidationError):
            yield msgspec.convert(fields, kind)


def schema_of(command: str, fields: dict[str, Any]) -> str:
    """Name the schema of what a command prints."""
    match command:
        case "verify" if "remaining" in fields:
            return "verify_interval"
        case "explain" if "closed_forms" in fields:
            return "closed_form"
    return command
