"""Wrong programs get clear messages and never anything else."""

from __future__ import annotations

import contextlib
import re
from itertools import pairwise

import pytest
from hypothesis import given

from dipapprox.errors import SourceError, UserError
from dipapprox.language.dip import parse_dip
from dipapprox.language.elaborate import elaborate
from dipapprox.language.lexer import KEYWORDS
from dipapprox.language.parser import parse
from dipapprox.limits import Limits
from dipapprox.semantics.execution import execute
from tests.language.samples import HEADER, SAMPLES, core_of
from tests.language.strategies import damaged

PIECES = [
    *sorted(KEYWORDS), "<-", "<", "=", "==", "(", ")", "[", "]", "{", "}", ",", ";", "\n", "..",
    "~", "q", "out", "r", "eps", "Gauss(0, 1)", "argmax(v)", "max(v)", "v[i]", "1/0", "1e9", "-",
    "not ", "&&", "#", "\t", "\0", "é", "∞", "0.5", "1..3", "N", "adjacent l0 ", "if q[1] then ",
    ":", "^", "^-2", "choose {0 : 1/2, 1 : 1/2}", "disc(r; 0 < 1)",
    "while q[1] = 0 do ", "DLap(0, 1)", "exp(eps)", "Exp(eps, q)", "LapPlus(0, eps)", "in bool",
]  # fmt: skip

DIP = """\
INPUTSIZE 2;
OUTPUT = [0, 0];
NUMERIC T = 0;
RANDOM RT = gauss(eps/2, T);
RANDOM R = lap(eps/4, INPUT[0]);
IF R >= RT THEN { OUTPUT[0] = 1; } ELSE { RANDOM S = R; IF S < T THEN { OUTPUT[1] = -1.5; } }
"""


@given(damaged(SAMPLES, PIECES))
def test_damaged_programs_get_only_clean_errors(text: str) -> None:
    with contextlib.suppress(UserError):
        elaborate(parse(text), {}, "damaged")


@given(damaged([DIP], ["IF ", "}", "{", ";", "OUTPUT", "INPUT[1]", "eps/0", "NOT ", "x", "9e9"]))
def test_damaged_dip_files_get_only_clean_errors(text: str) -> None:
    with contextlib.suppress(UserError):
        elaborate(parse_dip(text), {}, "damaged")


def test_endless_errors_end() -> None:
    with pytest.raises(SourceError) as caught:
        core_of(HEADER + "out <- a\n" * 1_000)
    assert len(caught.value.diagnostics) == 20


def test_cells_of_numbers_and_names_are_compared_with_both() -> None:
    header = "input q in {a, b}\ninput m in {a, 1}\noutput out in {0, 1}\nout <- 0\n"
    for condition in ("q = a", "q = m", "m = 1", "m = a"):
        elaborate(parse(f"{header}if {condition} then out <- 1 end"), {}, "mixed")


def test_chains_of_elif_are_no_nesting() -> None:
    links = "".join(f"elif r < {k} then out <- {k % 2}\n" for k in range(1, 151))
    chain = f"if r < 0 then out <- 0\n{links}else out <- 1 end\n"
    nest = "if q[1] = 0 then\n" * 99 + chain + "else out <- 0 end\n" * 99
    program = core_of(HEADER + "r <- Gauss(q[2], 1/eps)\n" + nest)
    assert len(execute(program, False, Limits()).states) == 153
    with pytest.raises(SourceError, match="more than 150 'elif' are open"):
        core_of(
            HEADER
            + "r <- Gauss(0, 1)\n"
            + chain.replace("else", "elif r < 200 then out <- 0\nelse")
        )


@pytest.mark.parametrize("text", SAMPLES)
def test_every_wrong_line_has_its_message_and_no_other(text: str) -> None:
    """What is left of a statement, a header or a declaration is harmless."""
    numbered = enumerate(text.splitlines())
    written = [k for k, line in numbered if line.split("#")[0].strip() not in ("", "end")]
    for wrong in pairwise(written):
        lines = text.splitlines()
        for k in wrong:
            lines[k] = re.sub(r"^( *)(\S+)(.*)", r"\1\2 2 3\3", lines[k].split("#")[0])
        with pytest.raises(SourceError) as refused:
            parse("\n".join(lines))
        found = [each.render().split(":")[1] for each in refused.value.diagnostics]
        assert found == [str(k + 1) for k in wrong]
