"""What a command loads: start-up counts, so what it does not need stays on disk."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from dipapprox.deferred import Deferred

ROOT = Path(__file__).parent.parent

_LOADED = """
import sys
from dipapprox.cli.app import main
status = main(sys.argv[1:])
print(*[name for name in sys.modules if name.startswith("dipapprox.") or "." not in name])
sys.exit(status)
"""


def loaded_by(*words: str) -> set[str]:
    """The modules in memory after a command."""
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.splitlines()[-1].split())


VERIFY = (
    "verify", "programs/svt_gauss.dpg", "--eps", "0.5", "--eps-prv", "1.24", "--delta", "0.01",
)  # fmt: skip


def test_a_verification_loads_what_it_needs_only() -> None:
    found = loaded_by(*VERIFY, "--json")
    assert "dipapprox.numerics.elimination.engine" in found
    unneeded = (
        "dipapprox.certificates",
        "dipapprox.exact.laplace.engine",
        "dipapprox.exact.signs.values",
        "dipapprox.experiments",
        "dipapprox.highlighting",
        "dipapprox.integrals.optimizer",
        "dipapprox.numerics.nested.engine",
        "dipapprox.numerics.parallel",
        "dipapprox.privacy.decisions",
        "dipapprox.privacy.exact_pairs",
        "dipapprox.privacy.intervals.verifier",
        "dataclasses",
        "igraph",
        "matplotlib",
        "msgspec",
        "multiprocessing",
        "pygments",
        "rich",
        "scipy",
        "shtab",
    )
    assert all(find_spec(name) for name in unneeded if name.startswith("dipapprox"))
    assert sorted(found & set(unneeded)) == []


def test_people_see_a_layout() -> None:
    assert "rich" in loaded_by(*VERIFY)


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_what_is_said_of_all_commands_loads_none(word: str) -> None:
    found = loaded_by(word)
    heavy = ("dipapprox.language", "dipapprox.cli.verify", "dataclasses", "flint", "numpy", "rich")
    assert not found & set(heavy)


def test_a_deferred_module_is_the_module() -> None:
    deferred = Deferred("dipapprox.errors")
    from_it = deferred.UserError
    assert from_it is sys.modules["dipapprox.errors"].UserError
    with pytest.raises(AttributeError):
        _ = deferred.no_such_thing
    with pytest.raises(ModuleNotFoundError):
        _ = Deferred("dipapprox.no_such_module").anything
