"""Systems without Unix below or numpy, and `python -O`: answers stay the same."""

import io
import json
import re
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import to_ball
from dipapprox.cli.app import main
from dipapprox.errors import BrokenInvariant
from dipapprox.integrals.integral import Integral, Level, Multiply
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import LAPLACE
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.intervals import power
from dipapprox.numerics.methods import Answers
from dipapprox.numerics.nested.evaluation import Effort, make_evaluator
from tests.cases import refuses
from tests.cli.running import run

ROOT = Path(__file__).parent.parent

_RUN = """
import importlib.abc, io, json, os, signal, sys
from contextlib import redirect_stdout

missing, attributes, commands = map(json.loads, sys.argv[1:])

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
for name in missing:
    sys.modules.pop(name, None)
for module, names in ((os, attributes["os"]), (signal, attributes["signal"])):
    for name in names:
        delattr(module, name)

import dipapprox.deferred
from dipapprox.cli.app import main

for words in commands:
    out = io.StringIO()
    with redirect_stdout(out):
        status = main(words)
    print(json.dumps([status, out.getvalue()]))
print(json.dumps([name for name in missing if name in sys.modules]))
"""

UNIX = {
    "modules": ["resource", "fcntl", "termios", "pwd", "grp", "syslog", "_posixsubprocess"],
    "os": ["fork", "register_at_fork", "sysconf", "kill", "killpg", "wait", "waitpid"],
    "signal": ["setitimer", "getitimer", "alarm", "SIGALRM", "SIGKILL", "pthread_sigmask"],
}
"""What Windows has not."""

SVT = ("svt_laplace", "--eps", "1/2")
QUESTIONS = [
    ["verify", *SVT, "--delta", "0", "--json"],
    ["verify", *SVT, "--delta", "0", "--eps-prv", "1/100", "--proved", "--json"],
    ["verify", "svt_gauss", "--eps", "1/2", "--delta", "0.01", "--proved", "--json"],
    ["profile", "svt_gauss", "--eps", "1/2", "--delta", "0.01", "--json"],
    ["probability", *SVT, "--input", "0,1", "--json"],
    ["calibrate", *SVT[:1], "--eps-prv", "1", "--delta", "0", "--width", "1", "--json"],
    ["decide", "svt_laplace", "--proved", "--json"],
    ["prove", "svt_laplace", "--reals", "--proved", "--json"],
    ["prove", "programs/automata/svt.dipa", "--json"],
    ["compose", *SVT, "--times", "3", "--delta", "1e-3", "--json"],
    ["explain", *SVT[:1], "--json"],
    ["show", "examples/mechanisms.py:above"],
    ["test", "examples/mechanisms.py"],
    ["verify", *SVT, "--delta", "0"],
]


def answers(
    commands: list[list[str]], missing: dict[str, list[str]]
) -> list[tuple[int, str | dict[str, object]]]:
    """What commands say in a process that lacks something: status and output."""
    attributes = {name: missing.get(name, []) for name in ("os", "signal")}
    given = (missing["modules"], attributes, commands)
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *map(json.dumps, given)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    *lines, loaded = map(json.loads, done.stdout.splitlines())
    assert loaded == []
    return [(status, _comparable(out)) for status, out in lines]


def _comparable(out: str) -> str | dict[str, object]:
    """An answer without what times say."""
    if not out.startswith("{"):
        return re.sub(r"(< 1 ms|[\d.e-]+ s)\b", "…", out)
    found = json.loads(out)
    proved = found.pop("proved", None)
    return {**found, "seconds": None, "proved": proved and proved["steps"]}


def test_questions_are_answered_without_unix() -> None:
    without = answers(QUESTIONS, UNIX)
    assert [status for status, _ in without[:3]] == [0, 1, 0]
    for words, found in zip(QUESTIONS[:-1], without, strict=False):
        out = io.StringIO()
        with redirect_stdout(out), chdir(ROOT):
            status = main(words)
        assert found == (status, _comparable(out.getvalue())), words


def test_a_command_that_needs_more_says_so() -> None:
    assert answers([["sweep", "grid.toml", "--out", "out.jsonl"]], UNIX) == [(2, "")]


def test_memory_is_not_limited_where_nothing_tells_how_much_is_used() -> None:
    words = ["verify", *SVT, "--delta", "0", "--max-memory", "1000", "--json"]
    ((status, out),) = answers([words], UNIX)
    assert (status, out) == (2, "")


@pytest.fixture(scope="module", name="certificates")
def certificates_(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("certificates")
    asked = [
        ["verify", *SVT, "--delta", "0"],
        ["verify", "svt_gauss", "--eps", "1/2", "--eps-prv", "0.1", "--delta", "0.01"],
        ["decide", "svt_laplace"],
        ["prove", "svt_laplace", "--reals"],
        ["compose", *SVT, "--times", "3", "--eps-prv", "2", "--delta", "1e-3"],
    ]
    paths = [str(folder / f"{number}.json") for number, _ in enumerate(asked)]
    written = zip(asked, paths, strict=True)
    commands = [[*words, "--certificate", path, "--json"] for words, path in written]
    with redirect_stdout(io.StringIO()):
        statuses = [main(words) for words in commands]
    assert statuses == [0, 1, 0, 0, 0]
    return paths


def test_proofs_are_checked_without_numpy(certificates) -> None:
    """And without all that only the search for proofs needs, or Unix."""
    search = ["numpy", "scipy", "igraph", "matplotlib"]
    commands = [["check", path, "--json"] for path in certificates]
    found = answers(commands, {**UNIX, "modules": [*UNIX["modules"], *search]})
    assert [status for status, _ in found] == [0] * len(commands)
    assert all(isinstance(out, dict) and out["result"] == "confirmed" for _, out in found)


# --- `python -O` leaves assertions out ------------------------------------------------------------

PROGRAMS = Path(__file__).parent.parent / "programs"

COMMANDS = (
    ("verify", "svt_gauss.dpg", "--eps", "0.5", "--eps-prv", "1.24", "--delta", "0.01"),
    ("verify", "svt_gauss.dpg", "--eps", "0.5", "--eps-prv", "0.5", "--delta", "0.0001"),
    ("probability", "svt_laplace.dpg", "--eps", "1", "--input", "0,1"),
    ("decide", "svt_laplace.dpg"),
)

SCRIPT = """
import sys
from dipapprox.cli.app import main
assert False, "left out"
for words in {commands!r}:
    print("status", main(words), flush=True)
sys.path.insert(0, {tests!r})
import test_bare_systems
for each in test_bare_systems.BROKEN:
    try:
        each()
    except (test_bare_systems.BrokenInvariant, ValueError):
        print("refused")
"""


def two_branches() -> None:
    law = Distribution(LAPLACE, Fraction(0), Fraction(1))
    ends = (LinearForm.of({}, Fraction(end)) for end in (-1, 1))
    effort = Effort(40, to_ball(1), 10, 10, lambda: None)
    make_evaluator(Integral(Level(law, 0, *ends, -1, 1), Multiply(())), effort)


def no_answer() -> None:
    _ = Answers(1)[0]


def far_power() -> None:
    power(Enclosure.exact(2), 10_001)


BROKEN = (two_branches, no_answer, far_power)


@pytest.mark.parametrize("each", BROKEN)
def test_what_must_hold_is_checked(each) -> None:
    refuses((BrokenInvariant, ValueError), None, each)


def test_commands_answer_the_same_without_assertions() -> None:
    commands = [[words[0], str(PROGRAMS / words[1]), *words[2:], "--json"] for words in COMMANDS]
    script = SCRIPT.format(commands=commands, tests=str(Path(__file__).parent))
    optimized = subprocess.run(
        [sys.executable, "-O", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert optimized.stderr == ""
    wanted = ""
    for words in commands:
        status, text = run(*words)
        assert json.loads(text)["seconds"] >= 0
        wanted += f"{text}status {status}\n"
    wanted += "refused\n" * len(BROKEN)
    assert timeless(optimized.stdout) == timeless(wanted)


def timeless(text: str) -> str:
    return re.sub(r'"seconds": [0-9.e-]+', "", text)
