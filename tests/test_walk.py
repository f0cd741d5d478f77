"""How long the walk from a command to its answer is: the files and classes that a reader passes.

A file is passed if one of its functions is called or one of its classes is defined, a class if one
of its functions is called. The ceilings are what was reached: who raises one says what for.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dipapprox.cli.app import main

ROOT = Path(__file__).parent.parent

_PASSED = """
import io
import sys

codes = set()


def note(frame, event, _):
    if event == "call":
        codes.add(frame.f_code)


sys.setprofile(note)
from dipapprox.cli.app import main

out, sys.stdout = sys.stdout, io.StringIO()
status = main(sys.argv[2:])
sys.setprofile(None)
files, classes = set(), set()
for code in codes:
    path = code.co_filename
    if not path.startswith(sys.argv[1]) or code.co_name == "<module>":
        continue
    files.add(path)
    function = code.co_flags & 2  # has variables of its own, which bodies of classes do not
    name, dot, _ = code.co_qualname.split(".<locals>")[0].rpartition(".")
    if function and dot:
        classes.add((path, name))
print(status, len(files), len(classes), file=out)
"""


def walk(*words: str) -> tuple[int, int]:
    """The files and classes that a command passes."""
    done = subprocess.run(
        [sys.executable, "-c", _PASSED, str(ROOT / "dipapprox") + os.sep, *words],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    status, files, classes = map(int, done.stdout.split())
    assert status in (0, 1)
    return files, classes


VERIFY = ("verify", "programs/svt_gauss.dpg", "--eps", "0.5", "--delta", "0.01")


@pytest.mark.parametrize(
    ("words", "most_files", "most_classes"),
    [
        # A family of noise is a file, and so are mirror images. Verdicts may be replayed; tiers,
        # progress, flags and selections of pairs stand by themselves, for checks to load less;
        # so do the table of methods and who gave an end. Closed forms and enclosures share pieces
        # of functions, variables of linear systems and brackets of δ.
        (VERIFY, 153, 77),
        (("profile", *VERIFY[1:4], "--eps-prv", "0.5"), 172, 82),
        (("decide", "programs/dipc/svt1.dpg"), 178, 78),
    ],
)
def test_few_files_and_classes_are_passed(
    words: tuple[str, ...], most_files: int, most_classes: int
) -> None:
    files, classes = walk(*words)
    assert files <= most_files
    assert classes <= most_classes


def test_a_check_passes_fewer(tmp_path: Path) -> None:
    certificate = str(tmp_path / "certificate.json")
    assert main([*VERIFY, "--certificate", certificate]) in (0, 1)
    files, classes = walk("check", certificate)
    assert files <= 115
    # Results of replays are told apart; what statements do, and what runs are.
    assert classes <= 44
