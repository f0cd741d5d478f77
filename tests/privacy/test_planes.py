"""δ over planes through the worst pair: enclosed at each point, that of the pair largest."""

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from dipapprox import Limits, Options, calibrate, parse, profile, verify
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import UserError
from dipapprox.language.core import Program
from dipapprox.pairs.adjacency import adjacent_pairs
from dipapprox.privacy.profiles.around_pair import are_adjacent
from dipapprox.privacy.profiles.planes import Plane, Planes
from dipapprox.privacy.run import RunResult
from dipapprox.questions.kinds import pairs
from dipapprox.questions.worst_pair import around_worst_pair
from tests.cli.running import run
from tests.texts import text_of

_SVT = text_of("privacy/planes-3")

_ONE = text_of("privacy/planes-7")

_SUM = text_of("privacy/planes-5")


def around(program: Program, found: RunResult, options: Options | None = None) -> Planes:
    return around_worst_pair(program, found, pairs("all", "pairs"), options or Options())


@pytest.mark.parametrize("rule", ["linf 1", "l1 1", "l0 1", "increasing 1", "decreasing 1", "all"])
def test_adjacency_is_that_of_all_pairs(rule: str) -> None:
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
    assert "nothing claimed between" in " ".join(found.notes())
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
    program = parse(_ONE)
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


def test_pictures_say_what_is_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
