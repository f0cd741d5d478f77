"""`python -O` leaves assertions out: the answers, and what is refused, stay the same."""

import json
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.precision import to_ball
from dipapprox.errors import BrokenInvariant
from dipapprox.laws.distribution import Distribution
from dipapprox.laws.families import LAPLACE
from dipapprox.linear.form import LinearForm
from dipapprox.numerics.intervals import power
from dipapprox.numerics.methods import Answers
from dipapprox.numerics.nested.evaluation import Effort, Settings, make_evaluator
from dipapprox.numerics.nested.nest import Nest, NestRange, NodeProduct
from tests.cli.running import run

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
import test_optimized
for each in test_optimized.BROKEN:
    try:
        each()
    except (test_optimized.BrokenInvariant, ValueError):
        print("refused")
"""


def two_branches() -> None:
    law = Distribution(LAPLACE, Fraction(0), Fraction(1))
    ends = (LinearForm.of({}, Fraction(end)) for end in (-1, 1))
    settings = Settings(Effort(40, to_ball(1), 10), 10, lambda: None)
    make_evaluator(Nest(NestRange(law, *ends, -1, 1), 0, NodeProduct(())), settings)


def no_answer() -> None:
    _ = Answers(1)[0]


def far_power() -> None:
    power(Enclosure.exact(2), 10_001)


BROKEN = (two_branches, no_answer, far_power)


@pytest.mark.parametrize("each", BROKEN)
def test_what_must_hold_is_checked(each: object) -> None:
    with pytest.raises((BrokenInvariant, ValueError)):
        each()


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
