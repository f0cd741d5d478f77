"""The public names: all there, loaded when asked for, and known to type checkers."""

from __future__ import annotations

import ast
import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import dipapprox

INIT = Path(dipapprox.__file__)


def test_type_checkers_see_the_names_where_they_are_loaded_from() -> None:
    tree = ast.parse(INIT.read_text(encoding="utf-8"))
    (seen,) = [node.body for node in tree.body if isinstance(node, ast.If)]
    imported = {
        (node.module, alias.name)
        for node in seen
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert imported == {(home, name) for name, home in dipapprox._HOME_OF.items()}
    assert sorted(name for _, name in imported) == sorted(dipapprox.__all__)
    homes = dipapprox._HOMES
    assert sum(map(len, homes.values())) == len(imported), "a name has one home"


def test_every_public_name_is_what_its_module_defines() -> None:
    for name in dipapprox.__all__:
        assert getattr(dipapprox, name).__name__ == name
    assert set(dipapprox.__all__) <= set(dir(dipapprox))


def test_everything_public_is_documented_and_in_the_reference() -> None:
    page = (INIT.parent.parent / "docs" / "reference.md").read_text(encoding="utf-8")
    shown = [line.split(".")[1] for line in page.splitlines() if line.startswith("::: ")]
    assert sorted(shown) == sorted(dipapprox.__all__)
    for name in dipapprox.__all__:
        thing = getattr(dipapprox, name)
        assert inspect.getdoc(thing), name
        for part, value in vars(thing).items() if isinstance(thing, type) else ():
            if not part.startswith("_") and (callable(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{part}"


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'verrify'"):
        _ = dipapprox.verrify


def test_a_command_loads_only_what_it_needs() -> None:
    script = (
        "import json, sys; from dipapprox.cli import app; app.main(['verify', 'nowhere']); "
        "print(json.dumps(sorted(sys.modules)))"
    )
    command = (sys.executable, "-c", script)
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert "dipapprox.cli.verify" in loaded
    assert not {name for name in loaded if name.startswith("dipapprox.replays")}
    assert not loaded & {"dipapprox.cli.profile", "dipapprox.cli.explain", "importlib.metadata"}
