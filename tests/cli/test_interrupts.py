"""Ctrl-C at moments that are met exactly: the process interrupts itself there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent

CLAIM = ("--eps", "0.5", "--eps-prv", "1.24", "--delta", "0.01")

_DURING_IMPORTS = """
class Finder:
    def find_spec(self, name, *_):
        if name == MODULE:
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Finder())
"""

_TWICE = """
import dipapprox.cli.app

def fail(*_):
    print("interrupted", file=sys.stderr, flush=True)
    signal.raise_signal(signal.SIGINT)

dipapprox.cli.app._fail = fail
"""

_AT_EXIT = """
import atexit

class Last:
    def __del__(self, interrupt=lambda: signal.raise_signal(signal.SIGINT)):
        interrupt()

atexit.register(signal.raise_signal, signal.SIGINT)
sys.kept = Last()
"""


def interrupted(moments: str, ignored: bool = False) -> subprocess.CompletedProcess[str]:
    """Run a verification that interrupts itself.

    Args:
        moments: Python that is run before `main`, with `os`, `signal` and `sys`.
        ignored: Whether SIGINT is ignored when the process starts, as behind `&` in a script.
    """

    def prepare() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.SIG_DFL)

    script = f"import signal, sys\n{moments}\nfrom dipapprox.__main__ import main\nmain()\n"
    words = ("verify", "programs/svt_gauss.dpg", "-p", "N=1", *CLAIM)
    return subprocess.run(
        [sys.executable, "-c", script, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        preexec_fn=prepare,
        check=False,
    )


@pytest.mark.parametrize(
    ("module", "ignored"),
    [
        ("dipapprox.limits", False),  # the first
        ("numpy", True),  # an extension
        ("dipapprox.cli.verify", False),  # the command's own
        ("dipapprox.semantics.execution", True),  # hardly started
    ],
)
def test_an_interrupt_during_imports_is_one_line(module: str, ignored: bool) -> None:
    done = interrupted(_DURING_IMPORTS.replace("MODULE", repr(module)), ignored)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_the_second_interrupt_ends_at_once() -> None:
    moments = _DURING_IMPORTS.replace("MODULE", "'dipapprox.language.load'") + _TWICE
    done = interrupted(moments)
    assert (done.returncode, done.stdout) == (130, "")
    assert set(done.stderr.splitlines()) == {"interrupted"}


def test_an_answer_that_is_out_stays() -> None:
    done = interrupted(_AT_EXIT)
    assert (done.returncode, done.stderr) == (0, "")
    assert "DP" in done.stdout
