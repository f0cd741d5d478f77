"""Who gave each end of an answer: `--why`, and what stops a run where two methods contradict."""

from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.arithmetic.extended import Extended
from dipapprox.errors import Contradiction
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.privacy.published.details import PublishedDetails
from dipapprox.proofs.real_proof import RealProof
from tests.cli.running import run, run_json
from tests.schemas import check_schema

ABOVE = """
input  count in 0..4
output answer in {no, yes}
adjacent linf 1
noisy <- Lap(count, 1 / eps)
if noisy >= 2 then
    answer <- yes
else
    answer <- no
end
"""
NUMBER = "input x in {0, 1}\noutput y in real\nadjacent linf 1\ny <- abs(Lap(x, 1 / eps))\n"
REALS = ABOVE.replace("0..4", "real 0..4")
ROUNDED = """
input x in real 0..4
output y in 0..4
adjacent linf 1
y <- clamp(round(Lap(x, 1 / eps)), 0, 4)
"""


@pytest.mark.parametrize(
    ("command", "text", "words", "ends"),
    [
        ("verify", ABOVE, "--eps 1 --delta 0", {"most": "exact comparison"}),
        (
            "verify",
            ABOVE,
            "--eps 1 --eps-prv 1/2 --delta 0",
            {"least": "enclosures: closed form", "most": "enclosures: closed form"},
        ),
        ("verify", ROUNDED, "--eps 1 --delta 0", {"most": "least budget"}),
        ("verify", NUMBER, "--eps 1 --delta 0", {"most": "coupling"}),
        ("verify", ABOVE, "--eps 1..3/2 --delta 0.01", {"most": "enclosures: elimination"}),
        ("profile", ROUNDED, "--eps 1 --delta 0", {"most": "least budget"}),
        ("profile", NUMBER, "--eps 1 --delta 0", {"least": "exact comparison", "most": "coupling"}),
        ("profile", REALS, "--eps 1 --eps-prv 1/2", {"most": "convexity between corners"}),
        ("profile", ABOVE, "--eps 1 --curve 0:1:3", {"most": "concave hull in e^ε_prv"}),
        ("profile", ABOVE, "--eps 1 --renyi 2", {"least": "enclosures: closed form"}),
        ("calibrate", ABOVE, "--eps-prv 1 --delta 0", {"least": "enclosures: closed form"}),
        ("decide", ABOVE, "", {"most": "closed forms"}),
        ("prove", ROUNDED, "", {"least": "two inputs", "most": "couplings"}),
    ],
)
def test_every_end_has_a_method(
    command: str, text: str, words: str, ends: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "asked.dpg"
    path.write_text(text, encoding="utf-8")
    asked = (command, str(path), *words.split())
    _, fields = run_json(*asked, "--why")
    interval = command == "verify" and ".." in words
    check_schema("verify_interval" if interval else command, fields)
    told = {end["end"]: end["by"] for end in fields["why"]}
    assert ends.items() <= told.items()
    assert all(told.values())
    values = {end["end"]: end["value"] for end in fields["why"]}
    for name in ("delta_enclosure", "eps_prv_enclosure"):
        for side, value in zip(("least", "most"), fields.get(name) or (), strict=False):
            assert values.get(side, value) == value


def test_why_is_said_where_it_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "asked.dpg"
    path.write_text(ABOVE, encoding="utf-8")
    assert "why" not in run_json("decide", str(path))[1]
    assert "Why" not in run("decide", str(path))[1]
    assert "closed forms" in run("decide", str(path), "--why")[1].partition("Why")[2]


def test_what_composes_says_who_bounds_it(tmp_path: Path) -> None:
    path = tmp_path / "runs.toml"
    path.write_text(
        '[[run]]\nmechanism = "gaussian"\nsigma = 4\ntimes = 3\n'
        '[[run]]\nmechanism = "laplace"\nscale = 2\n',
        encoding="utf-8",
    )
    _, fields = run_json("compose", str(path), "--delta", "1e-3", "--width", "1/10", "--why")
    check_schema("compose", fields)
    assert [(end["of"], end["by"]) for end in fields["why"]] == [
        ("least ε_prv", "losses on a grid")
    ] * 2


def test_couplings_that_a_set_contradicts_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    true = PublishedPairs.budget

    def false(self: PublishedPairs, pair: object) -> Fraction | None:
        found = true(self, pair)  # type: ignore[arg-type]
        return None if found is None else found / 2

    monkeypatch.setattr(PublishedPairs, "budget", false)
    monkeypatch.setattr(PublishedPairs, "_is_pure", lambda *_: False)
    monkeypatch.setattr(PublishedDetails, "_pure", lambda *_: None)
    with pytest.raises(Contradiction, match=r"ε_prv: at least .* by exact .* by coupling"):
        dipapprox.profile(dipapprox.parse(NUMBER), eps=1, delta=0)


NUMBERS = st.fractions(0, 4, max_denominator=4)
BOUNDS = st.builds(
    lambda a, b, finite: Extended(min(a, b), max(a, b) if finite else None, "one", "one"),
    NUMBERS,
    NUMBERS,
    st.booleans(),
)


@given(BOUNDS, BOUNDS, NUMBERS)
def test_what_two_methods_say_is_their_common_part(
    first: Extended, second: Extended, number: Fraction
) -> None:
    second = Extended(second.lower, second.upper, "two", "two")
    try:
        both = first.meet(second, "a number")
    except Contradiction as found:
        assert not (number in first and number in second)
        assert "one" in str(found) and "two" in str(found) and "a number" in str(found)
        return
    assert (number in both) == (number in first and number in second)
    assert both.lower == (first if both.least_by == "one" else second).lower
    assert both.upper == (first if both.most_by == "one" else second).upper
    greater = first.greater(second)
    assert greater.lower == max(first.lower or 0, second.lower or 0)
    assert (greater.upper is None) == (None in (first.upper, second.upper))


@given(BOUNDS, BOUNDS)
def test_enclosures_meet_as_bounds_do(first: Extended, second: Extended) -> None:
    if None in (first.upper, second.upper):
        return
    one, two = first.enclosure(), second.enclosure()
    try:
        both: Enclosure | None = one.intersect(two, "two", "one", "a number")
    except Contradiction as found:
        assert "by one and" in str(found) and str(found).endswith("by two")
        both = None
    assert (both is not None) == one.meets(two)
    if both is not None:
        assert Extended(both.lower, both.upper) == first.meet(second, "a number")


def test_rays_that_couplings_contradict_stop_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RealProof, "lower", property(lambda _: Fraction(101, 100)))
    said = r"the least budget: at least 1\.01 by two inputs and at most 1\.0 by couplings"
    with pytest.raises(Contradiction, match=said):
        dipapprox.prove(dipapprox.parse(ROUNDED))
