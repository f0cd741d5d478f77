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


MESSAGES = [
    ("out = 1", "'=' compares, it does not assign", "'<-'"),
    ("out := 1", "unknown operator ':='", "'<-'"),
    ("if q[1] == 1 then out <- 1 end", "unknown operator '=='", "'='"),
    ("if q[1] = 1 && q[2] = 1 then skip end", "unknown operator '&&'", "'and'"),
    ("if q[1] = 1\nout <- 1\nend", "missing 'then' after the condition", "'then'"),
    ("for i in 1..2\nout <- 1\nend", "missing 'do' after the header of the loop", "'do'"),
    ("for i = 1 to 3 do\nout <- 1\nend", "unexpected '='", "'for i in 1..N do'"),
    ("if q[1] = 1 then\nout <- 1", "'if' is never closed", "'end'"),
    ("if q[1] = 1 then\nelse if q[1] = 0 then\nend", "'if' is never closed", "'elif'"),
    ("out <- 1\nend", "'end' without an 'if' or a loop before it", ""),
    ("r <- Gauss(q[1], 2/eps\nout <- 1", "'(' is never closed", "')'"),
    ("if q[1]<-1 then out <- 1 end", "unexpected '<-'", "x < -1"),
    ("out <- 3q[1]", "unexpected 'q'", "'*'"),
    ("out <- 1 out <- 0", "unexpected 'out'", "new line"),
    ("v[1, 2] <- 1", "unexpected ','", "one index"),
    ("v[1][2] <- 1", "unexpected '['", "one index"),
    ("if v[1, 2] < 1 then exit end", "unexpected ','", "one index"),
    ("out <-", "unexpected end of the text", ""),
    ("r <- Gauss(q[1])", "'Gauss' takes 2 arguments, got 1", "Gauss(mean, scale)"),
    ("r <- Gauss(q[3], 1)", "index 3 of 'q' is out of range", "1..2"),
    ("r <- Gauss(0, 2*eps^2)",
     "a scale must be a/eps, a constant or a*eps, this grows like eps^2", ""),
    ("r <- Gauss(0, -2*eps)", "a scale must be > 0, got -2*eps", ""),
    ("r <- Gauss(0, -2/eps)", "a scale must be > 0, got -2/eps", ""),
    ("r <- Gauss(0, 0)", "a scale must be > 0, got 0", ""),
    ("r <- Gauss(0, 1/eps + 1)", "terms with different powers of eps in a scale", ""),
    ("r <- Gauss(0, q[1])", "a constant is needed here", ""),
    ("r <- Gauss(0, 1)\nout <- r", "output 'out' is finite, but a real is assigned", "compare"),
    ("r <- Gauss(0, 1)\ns <- r * r", "product of two reals", "linear"),
    ("r <- Gauss(0, 1)\ns <- 1 / r", "division by something that is not constant", ""),
    ("r <- Gauss(0, 1)\nout <- q[r]", "an index is needed, but this is a real", ""),
    ("r <- Gauss(0, 1)\ns <- Gauss(r, 1)",
     "the mean must be a finite number, but this is a real", "add"),
    ("s <- r\nr <- Gauss(0, 1)\nout <- s", "output 'out' is finite, but a real is assigned", ""),
    ("out <- 2", "2 is not in the domain of output 'out'", "0, 1"),
    ("q[1] <- 1", "cannot assign to input 'q'", ""),
    ("out <- qq[1]", "unknown name 'qq'", "'q'"),
    ("out <- q", "'q' is an array", "'q[i]'"),
    ("out[1] <- 0", "'out' is no array", ""),
    ("out <- q(1)", "unknown function 'q'", "'q[i]'"),
    ("out <- eps", "'eps' can only be used in the scale of a distribution", ""),
    ("eps <- 1", "'eps' is the privacy parameter and cannot be declared or assigned", ""),
    ("for q in 1..2 do end", "loop variable 'q' is used as input as well", ""),
    ("if q[1] then skip end", "a condition is needed, but this is a number", "compare"),
    ("if 1 < 2 < (3 < 4) then skip end", "'<' needs numbers or reals, but this is a condition", ""),
    ("v[0] <- 1", "index 0 of 'v' is out of range", "begin at 1"),
    ("v[3/2] <- 1", "an index must be a whole number, got 3/2", ""),
    ("out <- 1/0", "division by zero", ""),
    ("for i in 1..1000000000 do end", "the program unrolls to more than 500000 statements", ""),
    ("v[1000000000] <- 1\nx <- max(v)", "arrays have at most 100000 elements", ""),
    ("// hello\nout <- 1", "unexpected '//'", "'#'"),
    ("r <- lap(q[1], 1)", "unknown function 'lap'", "did you mean 'Lap'?"),
    ("r <- Lap(q[1], 1/ε)", "unexpected character 'ε'", "write 'eps'"),
    ("r <- Lap(q[1], ln(2))", "unknown function 'ln'", "write 'log(x)'"),
    ("r <- Lap(sum(q), 1)", "unknown function 'sum'", "x[1] + x[2]"),
    ("n <- q[1] % 2", "unexpected character '%'", "b divides a if"),
    ("% sum", "unexpected character '%'", "comments start"),
    ("r <- Lap(count(q), 1)", "unknown function 'count'", "n <- n + 1"),
    ("if q[1] = 1 { out <- 1 } else { out <- 0 }", "unexpected '{'", "without braces"),
    ("if (q[1] = 1) {\nout <- 1\n}", "unexpected '{'", "then … end"),
    ("for i in 1..2 {\nout <- 1\n}", "unexpected '{'", "do … end"),
    ("if q[1] = 1 then out <- 1 else { out <- 0 }", "unexpected '{'", "without braces"),
    ("input x {0, 1}", "unexpected '{'", "'input q in {0, 1}'"),
    ("for i <- 1..2 do\nskip\nend", "unexpected '<-'", "'for i in 1..N do'"),
    ("r ~ Lap(q[1], 1)", "unexpected '~'", "'x <- Lap(q, 1/eps)'"),
    ("b <- ~(q[1] = 1)", "unexpected '~'", "'not'"),
    ("input in in {0, 1}", "unexpected 'in'", "'in' is a keyword"),
    ("in <- Lap(q[1], 1)", "unexpected 'in'", "'in' is a keyword"),
    ("if q[1] in {0, 1} then out <- 1 end", "unexpected 'in'", "'x = 0 or x = 1'"),
    ("r <- Lap(in, 1)", "unexpected 'in'", "'in' is a keyword"),
    ("r <- Lap(mean=q[1], scale=1)", "arguments have no names", "Lap(mean, scale)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message", "hint"), MESSAGES)
def test_messages(text: str, message: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        core_of(HEADER + text)
    first = caught.value.diagnostics[0]
    assert first.message == message
    assert hint in first.hint


DECLARATIONS = [
    ("input q in {0, 1}", "no output is declared"),
    ("output o in {0}\noutput o in {1}", "'o' is declared twice"),
    ("output o in {0}\nadjacent linf", "'linf' needs a radius"),
    ("output o in {0}\nadjacent lnf 1", "unknown adjacency 'lnf'"),
    ("output o in {0}\nadjacent all\nadjacent all", "adjacency is declared twice"),
    ("output o in {0}\nadjacent l1 -1", "the radius must be >= 0, got -1"),
    ("input q in {a}\noutput o in {0}\nadjacent l1 1", "'l1' needs numbers, but 'q' has named"),
    ("input q in {0}\noutput o in {0}\nadjacent { (0) ~ (2) }", "2 is not in the domain of 'q'"),
    ("input q in {0}\noutput o in {0}\nadjacent { (0,0) ~ (0) }", "an input of 2 values, but the "),
    ("output o in 1..0", "the range 1..0 is empty"),
    ("output o in 0..1000000000", "a domain of more than 10000 values is too large"),
    ("input q[1000000000] in {0}\noutput o in {0}", "1000000000 elements are too many"),
    ("input q[0] in {0}\noutput o in {0}", "an array needs at least 1 element, got 0"),
    ("param N\noutput o in {0}", "parameter 'N' has no value"),
    ("param N = M\nparam M = 1\noutput o in {0}", "'M' is not constant here"),
    ("output o in {a}\no <- a + 1", "'+' needs numbers or reals, but this is a named value"),
    ("output o in {a}\nif o < a then skip end", "'<' needs numbers or reals"),
    ("output o in {a}\nskip\nparam x = 1", "declaration after the first statement"),
]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("input q in 0.5..2.5\noutput o in {0}", "'real 0.5..2.5'"),
        ("output o in integer", "list the values"),
        ("output o in float", "all numbers are 'real'"),
        ("output o in {0}\nadjacent 1", "'adjacent linf 1'"),
    ],
)
def test_hints_about_declarations(text: str, hint: str) -> None:
    with pytest.raises(SourceError) as caught:
        core_of(text)
    assert hint in caught.value.diagnostics[0].hint


def test_a_path_is_told_by_the_values_of_roundings() -> None:
    text = "input q in 0..4\noutput out in {0, 1}\nif floor(q, 3/2) = 3 then out <- 1 end"
    with pytest.raises(SourceError, match="never assigned when 'floor") as caught:
        program = core_of(text)
        execute(program, True, Limits())
    assert "'floor(q, 3/2)' at line 3 is 0" in str(caught.value)


@pytest.mark.parametrize(("text", "message"), DECLARATIONS)
def test_messages_about_declarations(text: str, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        core_of(text)
    assert caught.value.diagnostics[0].message.startswith(message)


def test_endless_errors_end() -> None:
    with pytest.raises(SourceError) as caught:
        core_of(HEADER + "out <- a\n" * 1_000)
    assert len(caught.value.diagnostics) == 20


def test_numbers_are_not_compared_with_named_values() -> None:
    header = "input q in {a, b}\ninput m in {a, 1}\noutput out in {0, 1}\nout <- 0\n"
    for condition in ("q = 1", "0 != q", "q = out"):
        with pytest.raises(SourceError) as caught:
            elaborate(parse(f"{header}if {condition} then out <- 1 end"), {}, "mixed")
        (found,) = caught.value.diagnostics
        assert (found.kind, found.message) == (
            "type error",
            "a number is compared with a named value",
        )
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
