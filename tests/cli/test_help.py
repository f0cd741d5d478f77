"""The help of every command: examples that work, exit statuses, lines that fit."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from dipapprox.bundled import BUNDLED
from dipapprox.cli import app
from dipapprox.cli.app import join_negative_values
from dipapprox.cli.command import COMMANDS

EXAMPLE = re.compile(r"^  (dipapprox .*?)(?: {3,}.*)?$", re.MULTILINE)

ELSEWHERE = ("tables", "completion", "--cluster", "> ")
"""In examples that take long, need a cluster or write into the reader's home: only parsed."""

GRID = """[[grid]]
task = "profile"
programs = ["svt_gauss.dpg"]
eps = [0.5, 1]
delta = 0.01
"""


PIPELINE = """[[run]]
mechanism = "gaussian"
sigma = 4
times = 10
"""


def shown(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What --help prints on a terminal of 80 columns."""
    assert app.main([*words, "--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_a_manual_page(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(command.split(), capsys)
    assert "\nexamples:\n  dipapprox " in text and f"\n  dipapprox {command}" in text
    status = re.search(r"^exit status: 0 (.*)\Z", text, re.MULTILINE | re.DOTALL)
    assert status is not None
    assert re.search(r"\b2 (bad|not a certificate)", status[1]) and "130 interrupted" in status[1]
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "  -h, --help" in text
    if command:
        one_line = re.search(rf"^    {command}\s+(.*)$", shown([], capsys), re.MULTILINE)
        assert one_line is not None and one_line[1], "and one line in the list of commands"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_examples_of_the_help_work(
    command: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    found = EXAMPLE.findall(shown(command.split(), capsys))
    assert len(found) >= 2
    examples = [each for example in found for each in example.split(" && ")]
    monkeypatch.setenv("PYTHONPATH", str(BUNDLED.parent.parent))
    # Names occur in several folders: the outermost is meant.
    bundled = (*BUNDLED.rglob("*.dpg"), *BUNDLED.rglob("*.dipa"))
    for path in sorted(bundled, key=lambda path: -len(path.parts)):
        if path.stem != "svt_gauss" or command:
            shutil.copy(path, tmp_path)
    shutil.copy(BUNDLED.parent.parent / "examples" / "mechanisms.py", tmp_path)
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf-8")
    (tmp_path / "pipeline.toml").write_text(PIPELINE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for example in examples:
        words = join_negative_values(shlex.split(re.split(r" [|>] ", example)[0])[1:])
        assert words[0] in COMMANDS
        if words[-1] == "--help":
            assert app.main(words) == 0
            continue
        app.build_parser(words).parse_args(words)
        if words[0] == "examples" and words[-1] == "." and (tmp_path / "svt_gauss.dpg").exists():
            (tmp_path / "svt_gauss.dpg").unlink()
        if any(word in example for word in ELSEWHERE):
            continue
        assert app.main(words) in (0, 1), (example, capsys.readouterr())
    capsys.readouterr()
