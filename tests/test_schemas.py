"""The JSON Schemas in the package: made from types, and suited by outputs of every command."""

import json
import os
import subprocess
import sys
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from dipapprox.cli.described import commands_with
from dipapprox.schemas.generate import SCHEMAS, schema_texts
from tests.cli.running import run, run_json
from tests.replays.certified import PROGRAMS
from tests.schemas import check_schema, validator
from tests.thorough import THOROUGH

SVT = str(PROGRAMS / "svt_gauss.dpg")


VERIFY = ("verify", SVT, "--eps", "1/2", "--eps-prv", "0.1", "--delta")
SETTINGS = [
    ("verify", (*VERIFY, "0.03")),
    ("verify", (*VERIFY, "0.02")),
    ("verify", (*VERIFY, "0.02", "--timeout", "1e-9")),
    ("verify", ("verify", str(PROGRAMS / "noisy_max_laplace.dpg"), "--eps", "1", "--delta", "0")),
    ("probability", ("probability", SVT, "--eps", "1/2", "--input", "0,1")),
    ("probability", ("probability", str(PROGRAMS / "m_range_gauss.dpg"), "--eps", "1",
                     "--input", "0,1")),
    ("probability", ("probability", SVT, "--eps", "1", "--input", "0,1", "--timeout", "1e-9")),
    ("profile", ("profile", SVT, "--eps", "1/2", "--eps-prv", "0.1")),
    ("profile", ("profile", SVT, "--eps", "1/2", "--curve", "0:0.3:3", "--pairs", "single")),
    ("profile", ("profile", SVT, "--eps", "1/2", "--renyi", "inf,2,3/2")),
    ("compose", ("compose", SVT, "--eps", "1/2", "--times", "2", "--eps-prv", "1")),
    ("compose", ("compose", SVT, "--eps", "1/2", "--curve", "0:1:3")),
    ("compose", ("compose", SVT, "--eps", "1/2", "--eps-prv", "1/10", "--delta", "0")),
    ("explain", ("explain", SVT, "-p", "N=3")),
    ("explain", ("explain", SVT, "--timeout", "1e-9")),
    ("explain", ("explain", str(PROGRAMS / "svt_laplace_leaky_3.dpg"), "--no-merge")),
]  # fmt: skip


@pytest.mark.parametrize(("name", "words"), SETTINGS)
def test_outputs_are_valid_and_every_required_field_matters(name, words) -> None:
    _, fields = run_json(*words)
    _valid_only_complete(name, fields)


@pytest.mark.parametrize(("delta", "status"), [("0.03", 0), ("0.02", 1)])
def test_certificates_and_checks(tmp_path, delta, status) -> None:
    file = tmp_path / "out.json"
    assert run(*VERIFY, delta, "--certificate", str(file))[0] == status
    content = json.loads(file.read_text(encoding="utf-8"))
    _valid_only_complete("certificate", content)
    code, fields = run_json("check", str(file))
    assert (code, fields["result"]) == (0, "confirmed")
    _valid_only_complete("check", fields)
    file.write_text(json.dumps({**content, "scope": "for all"}), encoding="utf-8")
    code, fields = run_json("check", str(file))
    assert (code, fields["result"]) == (1, "refuted")
    _valid_only_complete("check", fields)
    file.write_text(json.dumps(content), encoding="utf-8")
    code, fields = run_json("check", str(file), "--timeout", "1e-9")
    assert (code, fields["result"]) == (3, "not confirmed")
    _valid_only_complete("check", fields)
    assert "confirmed" in run("check", str(file))[1]


def test_unknown_writes_no_certificate(tmp_path, capsys) -> None:
    file = tmp_path / "out.json"
    words = (*VERIFY, "0.02", "--timeout", "1e-9", "--certificate", str(file))
    assert run(*words)[0] == 3
    assert "no certificate" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def _valid_only_complete(name: str, fields: dict[str, Any]) -> None:
    check_schema(name, fields)
    wrong = {**fields, "delta_enclosure": ["0"], "outputs": -1, "states": 0}
    assert not validator(name).is_valid(wrong)


@pytest.mark.parametrize("name", schema_texts())
def test_the_shipped_files_are_what_is_generated(name) -> None:
    shipped = files("dipapprox").joinpath(f"schemas/{name}.schema.json").read_text("utf-8")
    assert shipped == schema_texts()[name], "`make schemas` writes them"
    if THOROUGH:  # msgspec writes schemas: few of their words are ours
        Draft202012Validator.check_schema(json.loads(shipped))


def test_every_object_that_a_command_prints_has_a_schema() -> None:
    """Besides the machines of `show --core --json`, which certificates have, too."""
    titles = [title for title, _ in SCHEMAS.values() if title.endswith(" --json")]
    described = {title.split()[1] for title in titles}
    assert described | {"show"} == set(commands_with("--json"))


EVERY_TYPE = """
import dipapprox.experiments.sweep.ledger, dipapprox.experiments.tables.plan
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
