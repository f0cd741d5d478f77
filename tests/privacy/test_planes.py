"""δ over planes through the worst pair: the pair's own δ is the largest in each."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest

from dipapprox import Options, parse, profile
from dipapprox.pairs.adjacency import adjacent_pairs
from dipapprox.pairs.growth import Growth
from dipapprox.privacy.profiles.planes import are_adjacent, planes
from tests.cli.running import run

_TEXT = """
input q[2] in real -1..1
output out in 0..2
adjacent linf 1
out <- 0
t <- Gauss(0, 4)
for i in 1..2 do
    x <- Gauss(q[i], 8)
    if x >= t then out <- i; exit end
end
"""


@pytest.mark.parametrize("rule", ["linf 1", "l1 1", "l0 1", "increasing 1", "decreasing 1", "all"])
def test_adjacency_is_that_of_all_pairs(rule: str) -> None:
    text = f"input q[2] in -1..1\noutput o in {{0, 1}}\nadjacent {rule}\no <- 0\n"
    program = parse(text)
    listed = set(adjacent_pairs(program.inputs, program.adjacency))
    inputs = [tuple(map(Fraction, each)) for each in product((-1, 0, 1), repeat=2)]
    for u, v in product(inputs, repeat=2):
        assert are_adjacent(program.adjacency, u, v) == (u == v or (u, v) in listed)


def test_the_worst_pair_is_the_highest_point() -> None:
    program = parse(_TEXT)
    eps_prv = Fraction(1, 5)
    answer = profile(program, eps=1, eps_prv=eps_prv)
    assert answer.witness is not None
    pair = answer.witness.input, answer.witness.adjacent
    found = planes(program, Fraction(1), Growth(eps_prv), pair, Options())
    assert [each.name for each in found] == ["q[1]", "q[2]"]
    for each in found:
        places = [each.values.index(value) for value in each.worst]
        worst = each.deltas[places[0]][places[1]]
        assert worst is not None
        assert abs(worst - float(answer.delta_enclosure.upper)) < 1e-9
        known = [d for row in each.deltas for d in row if d is not None]
        assert max(known) <= worst + 1e-9
        assert each.deltas[0][-1] is None  # -1 and 1 are not adjacent
        assert f"worst at {float(each.worst[0]):.6g}" in each.text()


def test_pictures_say_what_is_fixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("real.dpg").write_text(_TEXT, encoding="utf-8")
    assert run("profile", "real.dpg", "--eps", "1", "--eps-prv", "0.2", "--plot", "x.svg")[0] == 0
    assert "q[1] in [-1, 1] against its value in the adjacent input" in capsys.readouterr().err
    drawn = Path("x.svg").read_text(encoding="utf-8")
    assert "all else as in the worst pair" in drawn
