"""What docs/soundness.md and docs/certificates.md say of the kernel, counted."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dipapprox.cli.app import main
from dipapprox.kernel.laws import FAMILIES
from dipapprox.kernel.machine import NORMS
from dipapprox.kernel.proofs import named
from dipapprox.kernel.replay import RULES

ROOT = Path(__file__).parent.parent.parent
KERNEL = ROOT / "dipapprox" / "kernel"
SOUNDNESS = (ROOT / "docs" / "soundness.md").read_text(encoding="utf-8").replace("\n", " ")
CERTIFICATES = (ROOT / "docs" / "certificates.md").read_text(encoding="utf-8")

NEAR = 200
"""Lines that a rounded number may be off."""

MOST_KERNEL, MOST_LOADED = 5_000, 8_800
"""Lines that a proof of any kind may rest on."""

LOADED = """
import sys

from dipapprox.deferred import Unloaded
from dipapprox.cli.app import main

ELABORATOR = (
    *("dipapprox.language", "dipapprox.laws"),
    *(f"dipapprox.automata.{name}" for name in ("description", "model", "validity")),
)
status = main(["check", sys.argv[1]])
loaded = [name for name, module in sys.modules.items() if type(module) is not Unloaded]
names = [name for name in loaded if name.split(".")[0] == "dipapprox"]
print(status, "numpy" in sys.modules)
print(*(sys.modules[name].__file__ for name in names if not name.startswith(ELABORATOR)))
"""
"""Checks a file and prints the modules of ours that were loaded, but for the elaborator."""

PIPELINE = """
[[run]]
mechanism = "laplace"
scale = 2
times = 3
"""

ASKED = {
    "`verify`": ("verify", "svt_gauss.dpg", "--eps", "0.5", "--delta", "0.01"),
    "`verify`, real inputs": (
        *("verify", "reals/real_svt_gauss.dpg"),
        *("--eps", "1", "--delta", "0.9"),
    ),
    "`verify`, published numbers": (
        *("verify", "numbers/clamped_laplace.dpg"),
        *("--eps", "1", "--eps-prv", "0.5", "--delta", "0.5"),
    ),
    "`decide`": ("decide", "svt_laplace.dpg"),
    "`prove`, programs and streams": ("prove", "streams/sparse_stream.dpg"),
    "`prove`, automata": ("prove", "automata/sparse_vector.dipa"),
    "`prove`, services": ("prove", "services/cache.dpg"),
    "`compose`": ("compose", PIPELINE, "--eps-prv", "2", "--delta", "0.001"),
}
"""What proofs of every kind are about, by the name that the page has for them."""


def stated(pattern: str) -> int:
    """The number that the page on soundness states."""
    (found,) = re.findall(pattern, SOUNDNESS)
    return number(found)


def number(text: str) -> int:
    return int(text.replace(" ", ""))


def lines(*paths: Path) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def test_the_kernel_is_as_large_as_the_page_says() -> None:
    files = sorted(KERNEL.glob("*.py"))
    number = stated(r"the (\d+) files of `dipapprox/kernel/`")
    size = stated(r"`dipapprox/kernel/`, about ([\d ]+) lines")
    assert len(files) == number
    assert abs(lines(*files) - size) <= NEAR


@pytest.mark.parametrize("name", ASKED)
def test_a_check_loads_as_little_as_the_page_says(name, tmp_path) -> None:
    command, about, *claim = ASKED[name]
    proof, source = tmp_path / "proof.json", tmp_path / "rays.toml"
    if about == PIPELINE:
        source.write_text(PIPELINE, encoding="utf-8")
    else:
        source = ROOT / "programs" / about
    assert main([command, str(source), *claim, "--proved", "--certificate", str(proof)]) == 0
    done = subprocess.run(
        [sys.executable, "-c", LOADED, str(proof)], capture_output=True, text=True, check=True
    )
    *_, said, loaded = done.stdout.splitlines()
    assert said == "0 False", "confirmed, without numpy"
    files = list(map(Path, loaded.split()))
    row = rf"\| {re.escape(name)} \| ([\d ]+) \| ([\d ]+) \|"
    ((own, every),) = re.findall(row, SOUNDNESS)
    kernel, loaded_lines = lines(*[f for f in files if f.parent == KERNEL]), lines(*files)
    assert abs(kernel - number(own)) <= NEAR
    assert abs(loaded_lines - number(every)) <= NEAR
    assert kernel <= MOST_KERNEL
    assert loaded_lines <= MOST_LOADED


def test_every_rule_has_a_function() -> None:
    for name in RULES:
        assert named(RULES[name][0]).__doc__, name


def test_every_rule_is_on_its_page_with_its_fields() -> None:
    found = dict(re.findall(r"^\*\*([a-z ]+)\*\* \(([^;]*);", CERTIFICATES, re.MULTILINE))
    assert set(found) == set(RULES)
    for name, (_, fields) in RULES.items():
        assert tuple(re.findall(r"`(\w+)`", found[name])) == fields, name


def test_every_word_of_machines_is_on_the_page() -> None:
    for word in ("set", "draw", "if", "choose", "while", "repeat", "exit", "cell", "element"):
        assert f'"{word}"' in CERTIFICATES, word
    for word in (*NORMS, "all", "inverse", "exp", "eps", "and", "or"):
        assert f'"{word}"' in CERTIFICATES, word
    for family in FAMILIES:
        assert f"`{family}`" in CERTIFICATES, family
