"""Every command, program and Python block of the README is executed, and its output compared.

Refresh the shown output with `UPDATE_DOCS=1 pytest tests/test_readme.py` and read the diff.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
_BLOCK = re.compile(r"```console\n\$ (?P<command>[^\n]*)\n(?P<output>.*?)```", re.DOTALL)
_SECONDS = re.compile(r"\d+(\.\d+)?(e-\d+)? s\b *")
_MISTAKE = """input q in {0, 1}
output out in {0, 1}
adjacent all
r <- Gauss(q, 1/eps)
if r > treshold then out <- 1 else out <- 0 end
"""


def run(command: str, folder: Path) -> str:
    """Run a dipapprox command line in a folder that holds `programs/`; stdout, then stderr."""
    words = shlex.split(command)
    assert words[0] == "dipapprox"
    done = subprocess.run(
        [sys.executable, "-m", "dipapprox", *words[1:]],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"},
        check=False,
    )
    return "".join(line.rstrip() + "\n" for line in (done.stdout + done.stderr).splitlines())


def test_commands_print_what_the_readme_shows(tmp_path: Path) -> None:
    (tmp_path / "programs").symlink_to(ROOT / "programs")
    (tmp_path / "mistake.dpg").write_text(_MISTAKE, encoding="utf-8")
    text = README.read_text(encoding="utf-8")

    def executed(block: re.Match[str]) -> str:
        command = block["command"]
        if command.startswith("make "):
            target = command.removeprefix("make ")
            assert f"\n{target}:" in (ROOT / "Makefile").read_text(encoding="utf-8")
            return block[0]
        return f"```console\n$ {command}\n{run(command, tmp_path)}```"

    fresh = _BLOCK.sub(executed, text)
    if os.environ.get("UPDATE_DOCS"):
        README.write_text(fresh, encoding="utf-8")
    assert _SECONDS.sub("… s", fresh) == _SECONDS.sub("… s", text)


def test_the_program_shown_is_the_program_shipped() -> None:
    shown = re.search(r"```dpg\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    shipped = (ROOT / "programs" / "svt_gauss.dpg").read_text(encoding="utf-8")
    code = [line for line in shipped.splitlines() if line and not line.startswith("#")]
    assert [x for x in shown[1].splitlines() if x and not x.startswith("#")] == code


def test_python_blocks_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-c", block],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
        assert done.returncode == 0, done.stderr
