"""What is shown of answers: charts and planes inside their pictures, and who gave each end."""

import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from functools import partial
from math import exp
from pathlib import Path
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import (
    Answer,
    Enclosure,
    Limits,
    Options,
    RealProof,
    UserError,
    calibrate,
    parse,
    profile,
    verify,
)
from dipapprox.arithmetic.extended import Extended
from dipapprox.data_classes import replace
from dipapprox.errors import Contradiction
from dipapprox.language.core import Program
from dipapprox.pairs.published.together import PublishedPairs
from dipapprox.privacy.charts import STYLE, WIDTH, Bars, Curve, needs_powers, svg
from dipapprox.privacy.profiles.planes import Plane, Planes
from dipapprox.privacy.published.details import PublishedDetails
from dipapprox.privacy.run import RunResult
from dipapprox.questions.kinds import pairs
from dipapprox.questions.worst_pair import around_worst_pair
from tests.cases import cases, examples, refuses, template_of, text_of
from tests.cli.running import run, run_json

PROBABILITIES = st.fractions(0, 1, max_denominator=10**9)


def texts(drawn: str) -> list[str]:
    return [each.text or "" for each in ET.fromstring(drawn).iter() if each.tag.endswith("text")]


def inside(drawn: str) -> None:
    root = ET.fromstring(drawn)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for each in root.iter():
        x, y = (float(each.get(name) or each.get(f"c{name}") or 0) for name in "xy")
        assert 0 <= x <= width and 0 <= y <= height
        assert x + float(each.get("width") or 0) <= width
        for px, py in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", each.get("d") or ""):
            assert 0 <= float(px) <= width and 0 <= float(py) <= height


def boxes(drawn: str, kind: str) -> list[tuple[float, float, float, float]]:
    """Where the frames or the texts of a drawing are: left, top, right, bottom, generously."""
    found = []
    for each in ET.fromstring(drawn).iter():
        if kind == "text" and each.tag.endswith("text"):
            size = 11.5 if each.get("class") == "note" else 13.0
            wide = 0.6 * size * len(each.text or "")
            x, y = float(each.attrib["x"]), float(each.attrib["y"])
            share = {"start": 0.0, "middle": 0.5, "end": 1.0}[each.get("text-anchor", "start")]
            found.append((x - share * wide, y - 0.75 * size, x + (1 - share) * wide, y))
        elif kind == "axis" and each.get("class") == "axis":
            numbers = [float(n) for n in re.findall(r"-?[\d.]+", each.attrib["d"])]
            xs, ys = [numbers[0], numbers[-1]], [numbers[1], numbers[2]]
            if each.attrib["d"].endswith("Z"):  # M left top H right V bottom H left
                xs, ys = [numbers[0], numbers[2]], [numbers[1], numbers[3]]
            found.append((min(xs), min(ys), max(xs), max(ys)))
    return found


def no_text_over_data(drawn: str) -> None:
    frames = boxes(drawn, "axis")
    assert frames
    for left, top, right, bottom in boxes(drawn, "text"):
        for x, y, xx, yy in frames:
            assert right <= x or xx <= left or bottom <= y or yy <= top


def texts_fit(drawn: str) -> None:
    for left, _, right, _ in boxes(drawn, "text"):
        assert left >= -5 and right <= WIDTH + 5


@given(st.lists(st.tuples(PROBABILITIES, PROBABILITIES), max_size=15))
def test_bars_stay_inside(pairs) -> None:
    groups = tuple(
        (f"out = {k}", (Enclosure(p / 3, p), Enclosure.exact(q))) for k, (p, q) in enumerate(pairs)
    )
    inside(svg(Bars("a title", ("input", "adjacent"), groups)))


def test_a_profile_that_falls_by_many_powers_of_ten_stands_on_a_logarithmic_axis() -> None:
    """A Gaussian sample's, 0.38 at 0 and 3e-10 at 6; one that only reaches 0 is seen from 0 on."""
    phi = NormalDist().cdf
    places = [Fraction(k, 4) for k in range(25)]
    falling = [phi(0.5 - float(e)) - exp(float(e)) * phi(-0.5 - float(e)) for e in places]
    assert falling[0] > 0.38 and falling[-1] < 3e-9
    assert needs_powers(falling)
    reaching = [max(1 - exp((float(e) - 1) / 2), 0.0) for e in places]
    assert not needs_powers(reaching)
    assert not needs_powers([0.0, 0.0])


@given(st.lists(st.lists(PROBABILITIES, min_size=2, max_size=4), min_size=1, max_size=9))
def test_several_numbers_in_one_picture_are_named_and_told_apart(lines) -> None:
    drawn = [tuple((Fraction(k), Enclosure(y / 2, y)) for k, y in enumerate(ys)) for ys in lines]
    others = tuple((f"line {k}", each) for k, each in enumerate(drawn[1:], 1))
    picture = svg(Curve("a title", "across", "up", (("line 0", drawn[0]), *others)))
    inside(picture)
    no_text_over_data(picture)
    named = [text for text in texts(picture) if text.startswith("line ")]
    assert named == ([f"line {k}" for k in range(len(lines))] if others else [])
    styles = re.findall(r'class="(of\d(?: dashed)?) line"', picture)
    assert len(styles) == len(lines)
    assert len(set(styles)) == min(len(lines), 8)


@given(st.lists(st.lists(PROBABILITIES, min_size=3, max_size=3), min_size=2, max_size=5))
def test_maps_of_heights_stay_inside(grid) -> None:
    sides = tuple(Fraction(k, 7) - 1 for k in range(len(grid))), tuple(map(Fraction, range(3)))
    deltas = tuple(tuple(None if d > 1 / 2 else Enclosure(d / 2, d) for d in col) for col in grid)
    plane = Plane(
        "q[1] of the input",
        "q[1] of the adjacent input",
        "rest",
        *sides,
        (sides[0][0], sides[1][2]),
        deltas,
    )
    planes = Planes("a title", ("about",), "worst pair", "0 ~ 1", "bound", (plane,) * 3, "")
    drawn = svg(planes)
    inside(drawn)
    inside(svg(planes, STYLE))
    no_text_over_data(drawn)
    texts_fit(drawn)
    assert drawn.count('class="blank"') == 3
    largest = max((d for col in grid for d in col if d <= 1 / 2), default=Fraction(0))
    assert ("δ of a pair, log." in texts(drawn)) == (0 < largest < Fraction(1, 100))


def test_a_curve_plots_itself(tmp_path) -> None:
    program = dipapprox.parse(text_of("svt_gauss"))
    curve = dipapprox.profile(program, eps="1/2", curve=(0, Fraction(3, 10), 4))
    picture = curve.plot()
    picture.save(tmp_path / "curve.svg")
    saved = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert saved == picture._repr_svg_() + "\n"
    inside(saved)
    assert "budget ε_prv (no unit)" in texts(saved)
    # Between the points it draws bounds that hold there.
    for place, bounds in curve.chart().lines[0][1]:
        assert curve.envelope.at(place) == bounds
    refuses(UserError, r"cannot write 'curve\.png'", picture.save, tmp_path / "curve.png")


@given(orders=st.lists(st.fractions(1, 9, max_denominator=4), min_size=2, max_size=4, unique=True))
@examples(4)
def test_renyi_divergences_between_orders_are_bounded(orders) -> None:
    # Of Gaussian noise: D_a = a / (2 sigma^2).
    program = dipapprox.parse(
        "input q in 0..1\noutput y in real\nadjacent all\ny <- Gauss(q, 2/eps)"
    )
    found = dipapprox.profile(program, eps=1, renyi=orders)
    low, high = min(orders), max(orders)
    for share in (0, Fraction(1, 3), Fraction(7, 8), 1):
        order = low + share * (high - low)
        assert order / 8 in found.at(order)
    for outside in (low - Fraction(1, 9), high + 1):
        refuses(UserError, None, found.at, outside)
    assert "order a" in found.plot().svg()
    assert len(found.charts()) == 1


def test_infinite_divergences_are_not_drawn() -> None:
    program = dipapprox.parse("input q in 0..1\noutput y in 0..1\nadjacent all\ny <- q")
    found = dipapprox.profile(program, eps=1, renyi="2,3,inf")
    assert found.charts() == ()
    refuses(UserError, "nothing to draw", found.plot)


# --- Who gave each end of an answer ---------------------------------------------------------------

ABOVE = text_of("privacy/charts-above")
NUMBER = "input x in {0, 1}\noutput y in real\nadjacent linf 1\ny <- abs(Lap(x, 1 / eps))\n"
REALS = ABOVE.replace("0..4", "real 0..4")
ROUNDED = text_of("privacy/charts-rounded")


@cases(
    "command, text, words, ends",
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
)
def test_every_end_has_a_method(command, text, words, ends, tmp_path) -> None:
    path = tmp_path / "asked.dpg"
    path.write_text(text, encoding="utf-8")
    asked = (command, str(path), *words.split())
    _, fields = run_json(*asked, "--why")
    told = {end["end"]: end["by"] for end in fields["why"]}
    assert ends.items() <= told.items()
    assert all(told.values())
    values = {end["end"]: end["value"] for end in fields["why"]}
    for name in ("delta_enclosure", "eps_prv_enclosure"):
        for side, value in zip(("least", "most"), fields.get(name) or (), strict=False):
            assert values.get(side, value) == value


def test_why_is_said_where_it_is_asked(tmp_path) -> None:
    path = tmp_path / "asked.dpg"
    path.write_text(ABOVE, encoding="utf-8")
    assert "why" not in run_json("decide", str(path))[1]
    assert "Why" not in run("decide", str(path))[1]
    assert "closed forms" in run("decide", str(path), "--why")[1].partition("Why")[2]


def test_what_composes_says_who_bounds_it(tmp_path) -> None:
    path = tmp_path / "rays.toml"
    path.write_text(
        '[[run]]\nmechanism = "gaussian"\nsigma = 4\ntimes = 3\nsubsample = 0.1\n'
        '[[run]]\nmechanism = "laplace"\nscale = 2\n',
        encoding="utf-8",
    )
    _, fields = run_json("compose", str(path), "--delta", "1e-3", "--width", "1/10", "--why")
    assert [(end["of"], end["by"]) for end in fields["why"]] == [
        ("least ε_prv", "losses on a grid")
    ] * 2


def test_couplings_that_a_set_contradicts_stop_the_run(monkeypatch) -> None:
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
def test_what_two_methods_say_is_their_common_part(first, second, number) -> None:
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


FINITE = BOUNDS.filter(lambda bounds: bounds.upper is not None)


@given(FINITE, FINITE)
def test_enclosures_meet_as_bounds_do(first, second) -> None:
    one, two = first.enclosure(), second.enclosure()
    try:
        both: Enclosure | None = one.intersect(two, "two", "one", "a number")
    except Contradiction as found:
        assert "by one and" in str(found) and str(found).endswith("by two")
        both = None
    assert (both is not None) == one.meets(two)
    if both is not None:
        assert Extended(both.lower, both.upper) == first.meet(second, "a number")


def test_rays_that_couplings_contradict_stop_the_run(monkeypatch) -> None:
    told = RealProof.told
    above = partial(replace, lower=Fraction(101, 100))
    monkeypatch.setattr(RealProof, "told", lambda proof: told(above(proof)))
    said = r"the least budget: at least 1\.01 by two inputs and at most 1\.0 by couplings"
    refuses(Contradiction, said, dipapprox.prove, dipapprox.parse(ROUNDED))


# --- δ over planes through the worst pair, and pairs that an optimiser finds for every ε ----------

_SVT = text_of("privacy/planes-3")
_SUM = text_of("privacy/planes-5")


def around(program: Program, found: RunResult, options: Options | None = None) -> Planes:
    return around_worst_pair(program, found, pairs("all", "pairs"), options or Options())


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

_ABOVE = template_of("charts-above")


def _text(domain: str = "0..1", adjacency: str = "linf 1") -> str:
    return _ABOVE.format(domain=domain, adjacency=adjacency)


@examples(2)
@given(st.sampled_from(["linf 1", "l0 1", "all"]), st.fractions(0, "1/4", max_denominator=20))
def test_the_largest_delta_does_not_fall(adjacency, eps_prv) -> None:
    program = parse(_text("-1..1", adjacency))
    found = [profile(program, eps=eps, eps_prv=eps_prv).delta_enclosure for eps in ("1/4", "1/2")]
    assert found[0].lower <= found[1].upper


def test_listed_pairs_are_finite() -> None:
    pairs = [((Fraction(0), Fraction(1)), (Fraction(1), Fraction(1, 3)))]
    found = verify(parse(_text()), eps=("1/4", "1/2"), eps_prv="eps", delta="1e-5", pairs=pairs)
    assert found.answer is Answer.DP
    assert found.pairs == 1
