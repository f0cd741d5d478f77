"""Charts: all inside the picture, scales by what is claimed, numbers as people write them."""

import re
import xml.etree.ElementTree as ET
from fractions import Fraction
from math import exp
from pathlib import Path
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.errors import UserError
from dipapprox.privacy.charts import STYLE, WIDTH, Bars, Curve, needs_powers, svg
from dipapprox.privacy.heights import Heights
from dipapprox.privacy.profiles.planes import Plane, Planes
from tests.texts import text_of
from tests.thorough import examples

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
def test_bars_stay_inside(pairs: list[tuple[Fraction, Fraction]]) -> None:
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


LINES = st.lists(st.lists(PROBABILITIES, min_size=2, max_size=4), min_size=1, max_size=9)


@given(LINES)
def test_several_numbers_in_one_picture_are_named_and_told_apart(
    lines: list[list[Fraction]],
) -> None:
    drawn = [tuple((Fraction(k), Enclosure(y / 2, y)) for k, y in enumerate(ys)) for ys in lines]
    others = tuple((f"line {k}", each) for k, each in enumerate(drawn[1:], 1))
    picture = svg(Curve("a title", "across", "up", drawn[0], name="line 0", others=others))
    inside(picture)
    no_text_over_data(picture)
    named = [text for text in texts(picture) if text.startswith("line ")]
    assert named == ([f"line {k}" for k in range(len(lines))] if others else [])
    styles = re.findall(r'class="(of\d(?: dashed)?) line"', picture)
    assert len(styles) == len(lines)
    assert len(set(styles)) == min(len(lines), 8)


@given(st.lists(st.lists(PROBABILITIES, min_size=3, max_size=3), min_size=2, max_size=5))
def test_maps_of_heights_stay_inside(grid: list[list[Fraction]]) -> None:
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
    drawn = svg(Heights(planes))
    inside(drawn)
    inside(svg(Heights(planes), STYLE))
    no_text_over_data(drawn)
    texts_fit(drawn)
    assert drawn.count('class="blank"') == 3
    largest = max((d for col in grid for d in col if d <= 1 / 2), default=Fraction(0))
    assert ("δ of a pair, log." in texts(drawn)) == (0 < largest < Fraction(1, 100))


def test_a_curve_plots_itself(tmp_path: Path) -> None:
    program = dipapprox.parse(text_of("svt_gauss"))
    curve = dipapprox.profile(program, eps="1/2", curve=(0, Fraction(3, 10), 4))
    picture = curve.plot()
    picture.save(tmp_path / "curve.svg")
    saved = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    assert saved == picture._repr_svg_() + "\n"
    inside(saved)
    assert "budget ε_prv (no unit)" in texts(saved)
    # Between the points it draws bounds that hold there.
    for place, bounds in curve.chart().points:
        assert curve.envelope.at(place) == bounds
    with pytest.raises(UserError, match=r"cannot write 'curve\.png'"):
        picture.save(tmp_path / "curve.png")


@given(orders=st.lists(st.fractions(1, 9, max_denominator=4), min_size=2, max_size=4, unique=True))
@examples(4)
def test_renyi_divergences_between_orders_are_bounded(orders: list[Fraction]) -> None:
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
        with pytest.raises(UserError):
            found.at(outside)
    assert "order a" in found.plot().svg()
    assert len(found.charts()) == 1


def test_infinite_divergences_are_not_drawn() -> None:
    program = dipapprox.parse("input q in 0..1\noutput y in 0..1\nadjacent all\ny <- q")
    found = dipapprox.profile(program, eps=1, renyi="2,3,inf")
    assert found.charts() == ()
    with pytest.raises(UserError, match="nothing to draw"):
        found.plot()
