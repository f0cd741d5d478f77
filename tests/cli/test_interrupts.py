"""Ctrl-C, limits of time and memory: whenever they come, what is known is told whole."""

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from dipapprox.cli import app
from dipapprox.cli.command import stop_watching, watching
from dipapprox.errors import EarlyEnd, LimitReached
from dipapprox.limits import Limits
from dipapprox.privacy import subjects
from tests.cases import refuses
from tests.cli.running import run, run_json

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
import dipapprox.deferred
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
        ("dipapprox.cli.asking", False),  # the command's own
        ("dipapprox.semantics.execution", True),  # hardly started
    ],
)
def test_an_interrupt_during_imports_is_one_line(module, ignored) -> None:
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


# --- limits ---------------------------------------------------------------------------------------

PROGRAM = str(Path(__file__).parents[2] / "programs" / "svt_gauss.dpg")
USED_UP = Limits(seconds=0.0)


def busy(*_: object, **__: object) -> None:
    """Work that asks no limits: half a minute of it, should nothing end it."""
    for _number in range(10**9):
        pass


def test_work_that_asks_no_limits_is_ended() -> None:
    with pytest.raises(LimitReached, match="time limit: 0 s"), watching(USED_UP):
        busy()


def test_the_memory_is_watched_too() -> None:
    with pytest.raises(LimitReached, match="memory limit: 1 MiB"), watching(Limits(memory=1)):
        busy()


def test_what_was_swallowed_is_raised_again() -> None:
    with pytest.raises(LimitReached), watching(USED_UP):
        refuses(LimitReached, None, busy)
        busy()


class Garbage:
    """What ends in the middle of a collection, when the timer rings."""

    ended = 0

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        Garbage.ended += 1
        signal.raise_signal(signal.SIGALRM)


def test_nothing_is_raised_where_nobody_hears_of_it() -> None:
    gc.collect()
    before = Garbage.ended
    Garbage()
    with pytest.raises(LimitReached), watching(USED_UP):
        gc.collect()
        assert Garbage.ended == before + 1
        busy()


def test_an_early_end_tells_what_is_known() -> None:
    with watching(USED_UP), EarlyEnd() as end:
        busy()
    assert end.reason == "time limit: 0 s"


def test_a_limit_behind_an_error_of_an_extension_is_a_limit() -> None:
    with EarlyEnd() as end:
        raise SystemError("returned a result with an exception set") from LimitReached("a limit")
    assert end.reason == "a limit"


def test_limits_that_are_not_used_up_do_not_disturb() -> None:
    with watching(Limits()):
        assert signal.getitimer(signal.ITIMER_REAL) != (0.0, 0.0)
        signal.raise_signal(signal.SIGALRM)


def test_nothing_disturbs_what_is_being_told_or_comes_after() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with watching(Limits()):
        stop_watching()
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_other_threads_are_left_alone() -> None:
    before = signal.getsignal(signal.SIGALRM)
    seen = []

    def block() -> None:
        with watching(USED_UP):
            seen.append(signal.getsignal(signal.SIGALRM))

    thread = Thread(target=block)
    thread.start()
    thread.join()
    assert seen == [before]


def test_a_verdict_is_unknown_with_the_reason(monkeypatch) -> None:
    monkeypatch.setattr(subjects, "execute", busy)
    words = ("verify", PROGRAM, "--eps", "1", "--delta", "0", "--timeout", "0.5")
    status, fields = run_json(*words)
    assert status == 3
    assert fields["verdict"] == "Unknown"
    assert fields["reason"] == "time limit: 0.5 s"


@pytest.mark.parametrize(
    "command",
    ["verify", "probability", "profile", "calibrate", "decide", "prove", "explain", "check"],
)
def test_every_command_that_computes_has_a_time_limit(command, capsys) -> None:
    refuses(SystemExit, None, app.build_parser([command]).parse_args, [command, "--help"])
    assert "--timeout SECONDS" in capsys.readouterr().out


def test_reading_a_program_is_watched(monkeypatch, capsys) -> None:
    monkeypatch.setattr("dipapprox.language.load.read_source", busy)
    status, out = run("explain", PROGRAM, "--timeout", "0.5")
    assert (status, out) == (3, "")
    assert capsys.readouterr().err == "unknown: time limit: 0.5 s\n"
