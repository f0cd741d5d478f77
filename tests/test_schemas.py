"""The JSON Schemas in the package: made from types, and suited by certificates; by all that tests
have commands print, `run_json` says."""

import json
import os
import subprocess
import sys
from importlib.resources import files

import pytest
from jsonschema import Draft202012Validator

from dipapprox.cli.command import commands_with
from dipapprox.schemas.generate import SCHEMAS, schema_texts
from tests.cases import THOROUGH
from tests.cli.running import run, run_json
from tests.replays.certified import PROGRAMS
from tests.schemas import check_schema

SVT = str(PROGRAMS / "svt_gauss.dpg")


VERIFY = ("verify", SVT, "--eps", "1/2", "--eps-prv", "0.1", "--delta")


@pytest.mark.parametrize(("delta", "status"), [("0.03", 0), ("0.02", 1)])
def test_certificates_and_checks(tmp_path, delta, status) -> None:
    file = tmp_path / "out.json"
    assert run(*VERIFY, delta, "--certificate", str(file))[0] == status
    content = json.loads(file.read_text(encoding="utf-8"))
    check_schema("certificate", content)
    code, fields = run_json("check", str(file))
    assert (code, fields["result"]) == (0, "confirmed")
    file.write_text(json.dumps({**content, "scope": "for all"}), encoding="utf-8")
    code, fields = run_json("check", str(file))
    assert (code, fields["result"]) == (1, "refuted")
    file.write_text(json.dumps(content), encoding="utf-8")
    code, fields = run_json("check", str(file), "--timeout", "1e-9")
    assert (code, fields["result"]) == (3, "not confirmed")
    assert "confirmed" in run("check", str(file))[1]


def test_unknown_writes_no_certificate(tmp_path, capsys) -> None:
    file = tmp_path / "out.json"
    words = (*VERIFY, "0.02", "--timeout", "1e-9", "--certificate", str(file))
    assert run(*words)[0] == 3
    assert "no certificate" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


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
import dipapprox.experiments.sweep.ledger, dipapprox.experiments.tables.table
from dipapprox.data_classes import Record
from dipapprox.schemas.generate import schema_texts
from msgspec import Struct
from msgspec.json import Decoder

def types(above):
    for each in above.__subclasses__():
        if each.__module__.startswith("dipapprox.") and not issubclass(each, Record):
            Decoder(each)
        types(each)

types(Struct)
schema_texts()
"""


def test_no_type_makes_msgspec_free_memory_of_others() -> None:
    """Version 0.22 does so for a string with a pattern that may also be a list or an object."""
    environment = {**os.environ, "PYTHONMALLOC": "debug"}
    subprocess.run([sys.executable, "-c", EVERY_TYPE], env=environment, check=True)
