"""Schemas are made from types; whatever is read as a certificate suits its schema."""

from __future__ import annotations

import copy
import os
import random
import subprocess
import sys
from importlib.resources import files
from typing import Any

import pytest

from dipapprox.certificates.reading import read_certificate
from dipapprox.errors import UserError
from dipapprox.schemas.generate import schema_texts
from tests.certificates.samples import SAMPLES, sample
from tests.checking.certified import Fields, at
from tests.checking.test_forgeries import places
from tests.schemas import validator

SCHEMA_OF = {
    "DP": "certificate",
    "Not_DP": "certificate",
    "budget": "budget_certificate",
    "no budget": "budget_certificate",
}

VALUES: list[Any] = [
    None, True, 0, 1, -1, 10**30, "", "0", "1/2", "-1/2", "0.5", "1e-3", "01", " 1", "1\n", "inf",
    "DP", "Not_DP", "adjacent", [], [[]], ["0", "1"], ["1", "0"], [0, 0], {}, {"kind": "summary"},
]  # fmt: skip


@pytest.mark.parametrize("name", schema_texts())
def test_the_shipped_files_are_what_is_generated(name: str) -> None:
    shipped = files("dipapprox").joinpath(f"schemas/{name}.schema.json").read_text("utf-8")
    assert shipped == schema_texts()[name], "`make schemas` writes them"


EVERY_TYPE = """
import dipapprox.experiments.sweep.lines, dipapprox.experiments.tables.plan
from dipapprox.schemas.generate import schema_texts
from msgspec import Struct
from msgspec.json import Decoder

def types(above):
    for each in above.__subclasses__():
        if each.__module__.startswith("dipapprox."):
            Decoder(each)
        types(each)

types(Struct)
schema_texts()
"""


def test_no_type_makes_msgspec_free_memory_of_others() -> None:
    """Version 0.22 does so for a string with a pattern that may also be a list or an object."""
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    subprocess.run([sys.executable, "-c", EVERY_TYPE], env=environment, check=True)


@pytest.mark.parametrize("kind", SAMPLES)
def test_whatever_is_read_is_valid(kind: str) -> None:
    fields = sample(kind)
    schema = validator(SCHEMA_OF[kind])
    schema.validate(fields)
    draw, refused, all_places = random.Random(kind), 0, places(fields, ())[1:]
    for _ in range(150):
        changed = mutated(fields, draw.choice(all_places), draw)
        try:
            read_certificate(changed)
        except UserError:
            refused += 1
        else:
            schema.validate(changed)
    assert refused > 50


def mutated(fields: Fields, place: tuple[str | int, ...], draw: random.Random) -> Fields:
    """Return a copy in which one thing is another, is missing, or is one too many."""
    changed = copy.deepcopy(fields)
    inner, last = at(changed, place[:-1]), place[-1]
    match draw.choice(["replace", "replace", "remove", "add"]):
        case "remove":
            del inner[last]
        case "add" if isinstance(inner, list):
            inner.append(inner[last])
        case "add":
            inner[f"{last}x"] = inner[last]
        case _:
            inner[last] = draw.choice(VALUES)
    return changed
