"""δ over planes through the worst pair, and pairs that an optimiser finds for every ε."""

from fractions import Fraction
from itertools import product
from math import erf
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import Answer, Limits, Options, calibrate, parse, profile, verify
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.pairs.adjacency import adjacent_pairs
from dipapprox.privacy.profiles.planes import Plane, Planes
from dipapprox.privacy.run import RunResult
from dipapprox.questions.kinds import pairs
from dipapprox.questions.worst_pair import are_adjacent, around_worst_pair
from tests.cli.running import run
from tests.texts import text_of
from tests.thorough import examples

_SVT = text_of("privacy/planes-3")
_SUM = text_of("privacy/planes-5")


def around(program: Program, found: RunResult, options: Options | None = None) -> Planes:
    return around_worst_pair(program, found, pairs("all", "pairs"), options or Options())


@pytest.mark.parametrize("rule", ["linf 1", "l1 1", "l0 1", "increasing 1", "decreasing 1", "all"])
def test_adjacency_is_that_of_all_pairs(rule) -> None:
    text = f"input q[2] in -1..1\noutput o in {{0, 1}}\nadjacent {rule}\no <- 0\n"
    program = parse(text)
    listed = set(adjacent_pairs(program.inputs, program.adjacency))
    inputs = [tuple(map(Fraction, each)) for each in product((-1, 0, 1), repeat=2)]
    for u, v in product(inputs, repeat=2):
        assert are_adjacent(program.adjacency, u, v) == (u == v or (u, v) in listed)


def test_the_worst_pair_is_the_highest_point() -> None:
    program = parse(_SVT)
    answer = profile(program, eps=1, eps_prv="1/5")
    found = around(program, answer)
    here, there = "of the input", "of the adjacent input"
    assert [(each.across, each.up) for each in found.planes] == [
        (f"q[1] {here}", f"q[1] {there}"),
        (f"q[2] {here}", f"q[2] {there}"),
        (f"q[1] {here}", f"q[2] {here}"),
        (f"q[1] {there}", f"q[2] {there}"),
    ]
    for each in found.planes:
        deltas = dict(each.known())
        worst = deltas[each.pair]
        assert worst.meets(answer.delta_enclosure)
        assert all(delta.lower <= answer.delta_enclosure.upper for delta in deltas.values())
        assert each.pair in each.peaks()
        assert "of " in each.text() and each.fixed in each.text()
    assert found.planes[0].deltas[0][-1] is None  # -1 and 1 are not adjacent
    assert "nothing claimed between" in " ".join(found.notes)
    assert f"{float(answer.delta_enclosure.upper):.8f}"[:9] in found.proved


def test_words_of_planes() -> None:
    zero, one = Enclosure.exact(Fraction(0)), Enclosure.exact(Fraction(1, 8))
    sides = (Fraction(0), Fraction(1))

    def said(*deltas: Enclosure | None) -> str:
        cells = (deltas[:2], deltas[2:])
        return Plane("a", "b", "rest", sides, sides, (Fraction(0), Fraction(1)), cells).text()

    assert "no drawn δ is told apart from 0" in said(zero, zero, zero, None)
    assert "at (0, 1), not told apart from it at all others" in said(one, one, one, one)
    assert said(zero, zero, one, zero).endswith("0.125 at (1, 0), not at the pair (0, 1)")
    assert said(zero, one, one, zero).endswith("at (0, 1), not told apart from it at 1 others")


def test_only_what_a_pair_can_reach_of_wide_domains_is_drawn() -> None:
    wide = parse(_SUM.replace("real 0..1", "real -1000..1000"))
    found = around(wide, verify(wide, eps=1, eps_prv="1/100", delta="1/100"))
    for each in found.planes:
        assert each.columns[-1] - each.columns[0] <= 7 and len(each.known()) > 20
    for each in found.planes[:2]:  # pairs on the edge of adjacency are drawn
        assert sum(abs(x - y) == abs(each.pair[1] - each.pair[0]) for (x, y), _ in each.known()) > 9


def test_every_answer_with_a_pair_has_planes() -> None:
    program = parse(text_of("privacy/planes-7"))
    violated = verify(program, eps=1, eps_prv="1/10", delta="1/10000")
    assert around(program, violated).pair_name == "violating pair"
    holds = verify(program, eps=1, eps_prv="1/5", delta="1/2")
    assert holds.witness is None and around(program, holds).pair_name == "worst pair"
    found = calibrate(program, eps_prv="1/5", delta="1/10000", width="1/4")
    assert around(program, found).pair_name.startswith("pair that refutes ε = ")
    with pytest.raises(UserError, match="no pair of inputs is told apart"):
        around(program, profile(program, eps=1, eps_prv=5))
    finite = parse("input q in {0, 1}\noutput o in {0, 1}\nadjacent all\no <- q\n")
    with pytest.raises(UserError, match="no input may be any real number"):
        around(finite, verify(finite, eps=1, delta=0))


def test_a_limit_leaves_planes_out() -> None:
    program = parse(_SUM)
    answer = verify(program, eps=1, eps_prv="1/100", delta="1/100")
    with pytest.raises(UserError, match="there is nothing to draw: time limit"):
        around(program, answer, Options(limits=Limits(seconds=0.0)))


def test_pictures_say_what_is_fixed(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    Path("real.dpg").write_text(_SVT, encoding="utf-8")
    asked = ("real.dpg", "--eps", "1", "--eps-prv", "0.2")
    assert run("verify", *asked, "--delta", "0", "--plot", "x.svg", "--report", "x.html")[0] == 1
    said = capsys.readouterr().err
    assert "violating pair: q = (" in said and "q[1] of the adjacent input in [-1, 1]" in said
    for name in ("x.svg", "x.html"):
        drawn = Path(name).read_text(encoding="utf-8")
        assert "all else as in the pair" in drawn and "nothing claimed between" in drawn
        assert "δ of this pair in" in drawn
    assert run("verify", "svt_gauss", "--eps", "1", "--delta", "0", "--plot", "z.svg")[0] == 2


# --- All real inputs and every ε of an interval, and pairs that an optimiser finds by itself ------

_ABOVE = """
input q[2] in real {domain}
output o in {{0, 1}}
adjacent {adjacency}
t <- Gauss(0, 2 / eps)
o <- 0
for i in 1..2 do
    x <- Gauss(q[i], 4 / eps)
    if x >= t then o <- 1; exit end
end
"""


def _text(domain: str = "0..1", adjacency: str = "linf 1") -> str:
    return _ABOVE.format(domain=domain, adjacency=adjacency)


@examples(2)
@given(st.sampled_from(["linf 1", "l0 1", "all"]), st.fractions(0, "1/4", max_denominator=20))
def test_the_largest_delta_does_not_fall(adjacency, eps_prv) -> None:
    program = parse(_text("-1..1", adjacency))
    found = [profile(program, eps=eps, eps_prv=eps_prv).delta_enclosure for eps in ("1/4", "1/2")]
    assert found[0].lower <= found[1].upper


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_text("1/2..1"), "ties"),
        (_text().replace("(0, 2 / eps)", "(3/2, 2 / eps)"), "ties"),
        (_text().replace("x >= t", "x >= t + i / 8").replace("q[i]", "q[1]"), "ties"),
        (_text().replace("input", "input b in 0..1\ninput", 1), "finite inputs"),
        (_text().replace("2 / eps", "2"), "power"),
    ],
)
def test_what_the_lemma_does_not_cover_is_unknown(text, reason) -> None:
    program = parse(text)
    found = verify(program, eps=("1/4", "1/2"), eps_prv=1, delta="1e-5")
    assert found.answer is Answer.UNKNOWN
    assert reason in found.run.reason
    assert found.remaining == ((Fraction(1, 4), Fraction(1, 2)),)
    refuted = verify(program, eps=("1/4", "1/2"), eps_prv=0, delta="1e-5")
    assert refuted.answer is Answer.NOT_DP


@pytest.mark.parametrize("domain", ["1..2", "-2..-1", ""])
def test_where_shifts_are_all_that_matters_ranges_do_not(domain) -> None:
    """The Gaussian mechanism at ε: 2 Φ(ε / 2) - 1 < δ for ε_prv = 0, so for every ε_prv."""
    text = f"input x in real {domain}\noutput y in real\nadjacent linf 1\ny <- Gauss(x, 1/eps)\n"
    top = Fraction(repr(erf(2**-2.5)))
    for more, answer in (("1e-6", Answer.DP), ("-1e-6", Answer.NOT_DP)):
        delta = top + Fraction(more)
        found = verify(parse(text), eps=("1/4", "1/2"), eps_prv=0, delta=delta)
        assert found.answer is answer


@pytest.mark.parametrize(("more", "holds"), [("1e-2", True), ("-1e-3", False)])
def test_a_budget_that_touches_0_is_bounded_from_below_by_less(more, holds) -> None:
    """On [1/4, 1/2] arithmetic with balls bounds 16 (ε - 3/8)² by -1/4: at 3/8 it is 0."""
    text = "input x in real 0..1\noutput y in real\nadjacent linf 1\ny <- Gauss(x, 1/eps)\n"
    top = Fraction(repr(erf(3 / 8 / 2**1.5)))
    found = verify(
        parse(text), eps=("1/4", "1/2"), eps_prv="16*(eps - 3/8)^2", delta=top + Fraction(more)
    )
    assert (found.answer is Answer.DP) is holds
    if holds:
        assert found.delta_enclosure.upper >= top


def test_numbers_with_one_label_move_as_one() -> None:
    """Two numbers around 0 and 1 for one answer: what tells them apart grows with their noise."""
    text = (
        "input q in real 0..1\noutput y in real\nadjacent linf 1\nx <- Gauss(q, 1/eps)\n"
        "t <- Gauss(q, 1/eps)\nif t >= 1/2 then y <- x + 1 else y <- x end\n"
    )
    found = verify(parse(text), eps=("1/4", "1/2"), eps_prv=3, delta="1/2")
    assert found.answer is Answer.UNKNOWN
    assert found.run.reason is not None


def test_listed_pairs_are_finite() -> None:
    pairs = [((Fraction(0), Fraction(1)), (Fraction(1), Fraction(1, 3)))]
    found = verify(parse(_text()), eps=("1/4", "1/2"), eps_prv="eps", delta="1e-5", pairs=pairs)
    assert found.answer is Answer.DP
    assert found.pairs == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [("o <- q[1]", "a finite output is an input"), ("x <- DGauss(q[1], 1)", "noise of integers")],
)
def test_where_the_value_of_an_input_is_needed(line, message) -> None:
    text = f"input q[2] in real 0..1\noutput o in {{0, 1}}\nadjacent linf 1\n{line}\n"
    text += "o <- 0\nif x >= 0 then o <- 1 end\n" if "x" in line else ""
    with pytest.raises(UserError) as error:
        verify(parse(text), eps=1, eps_prv=1, delta="1e-5")
    assert message in str(error.value)
    assert ":4:" in str(error.value)
