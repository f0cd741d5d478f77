"""`dipapprox test`, and what runs it: pytest, pre-commit, a GitHub action."""

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from tests.cli.running import run, run_json
from tests.texts import text_of

ROOT = Path(__file__).parents[2]

PROGRAM = text_of("cli/claims-1")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    file = tmp_path / "noisy.dpg"
    file.write_text(PROGRAM)
    return file


def test_a_false_claim_is_shown_with_its_witness(program) -> None:
    status, shown = run("test", str(program))
    assert status == 1
    lines = shown.splitlines()
    assert lines[1].startswith("  holds   DP at eps = 1, delta = 0")
    assert lines[2].startswith("  FALSE   DP at eps = 1, eps_prv = 1/2")
    assert "Witness" in shown
    assert lines[-1].startswith("3 claims in 1 program: 1 holds, 1 false, 1 with errors")


def test_a_report_for_services(program, tmp_path) -> None:
    out = tmp_path / "report.xml"
    status, fields = run_json("test", str(tmp_path), "--junit", str(out))
    assert status == 1
    assert (fields["holds"], fields["false"], fields["error"]) == (1, 1, 1)
    (suite,) = ElementTree.parse(out).getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "1")
    kinds = [[element.tag for element in case] for case in suite]
    assert kinds == [[], ["failure"], ["error"]]
    assert "Pr[S | input]" in (suite[1][0].text or "")


def test_statuses(program) -> None:
    first, _, third, *rest = PROGRAM.splitlines()
    program.write_text("\n".join((first, *rest)))
    assert run("test", str(program))[0] == 0
    program.write_text("\n".join((third, *rest)))
    assert run("test", str(program))[0] == 2
    program.write_text("\n".join(("# claim: least budget 1/3 for all q", *rest)))
    assert run("test", str(program))[0] == 2
    program.write_text("\n".join(rest))
    assert run("test", str(program), "--allow-empty") == (0, "no claims\n")


MODULE = """
import missing  # which no test needs: the file is read

from typing import Annotated

from dipapprox import Quantity, Weight, laplace, mechanism


@mechanism(adjacent="linf 1")
def above(q: Annotated[Quantity, "in 0..2"], eps: Weight) -> Annotated[bool, "in bool"]:
    \"\"\"Is it?

    claim: DP at eps = 1, delta = 0
    claim: DP for all eps at budget = 1/2
    \"\"\"
    return laplace(q, 1 / eps) > 1
"""
OTHERS = {
    "other.py": "# @mechanism\nTEXT = 'claim: DP at eps = 1, delta = 0'\nraise SystemExit\n",
    "quiet.py": MODULE.replace("claim:", "promise"),
    ".hidden/copy.py": MODULE,
}


def test_claims_of_a_folder(tmp_path) -> None:
    """By `dipapprox test` and by pytest, which collects them beside what it finds itself."""
    (tmp_path / ".hidden").mkdir()
    for name, text in {"gates.py": MODULE, **OTHERS}.items():
        (tmp_path / name).write_text(text)
    status, fields = run_json("test", str(tmp_path))
    assert (status, fields["holds"], fields["false"]) == (1, 1, 1)
    (tmp_path / "noisy.dpg").write_text(PROGRAM)
    words = ("-p", "dipapprox.pytest_plugin", "-p", "no:cacheprovider", "-q", ".")
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *words),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=False,
    )
    assert "3 failed, 2 passed" in done.stdout, done.stdout + done.stderr
    assert "Witness: these outputs are too likely" in done.stdout
    assert "FAILED noisy.dpg::DP at eps = 1, eps_prv = 1/2, delta = 0" in done.stdout
    assert "FAILED gates.py::above: DP for all eps at budget = 1/2" in done.stdout


def test_the_action_runs_what_its_inputs_say(program, tmp_path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    step = action["runs"]["steps"][-1]
    assert set(step["env"].values()) == {
        f"${{{{ inputs.{name} }}}}" for name in ("files", "junit", "timeout")
    }
    command = tmp_path / "dipapprox"
    command.write_text('#!/bin/sh\nfor word in "$@"; do echo "$word"; done\n')
    command.chmod(0o755)
    done = subprocess.run(
        ("bash", "-eo", "pipefail", "-c", step["run"]),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        env={
            "PATH": f"{tmp_path}:{os.environ['PATH']}",
            "FILES": "*.dpg more",
            "JUNIT": "a b.xml",
            "TIMEOUT": "60",
        },
    )
    words = ["test", "noisy.dpg", "more", "--timeout", "60", "--junit", "a b.xml"]
    assert done.stdout.splitlines() == words


def test_the_hook_runs_a_command_that_there_is(program) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    name, *words = hook["entry"].split()
    assert name == "dipapprox"
    program.write_text("\n".join(PROGRAM.splitlines()[3:]))
    assert run(*words, str(program))[0] == 0
