"""Paths of two runs beside each other: what shifts cost, and what is matched, case by case."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from dipapprox.kernel.errors import NotProved, Refused, Refuted
from dipapprox.kernel.forms import Form, only
from dipapprox.kernel.paths import Beside, Path, Sample
from dipapprox.kernel.rounds import Follower, read_rounds
from kernel.streams import Json, stream

F = Fraction
ZERO, ONE, HALF = F(0), F(1), F(1, 2)


def form(constant: Fraction | int, *terms: tuple[int, Fraction | int]) -> Form:
    return Form(F(constant), tuple((atom, F(c)) for atom, c in terms))


def shifted(family: str, size: Fraction, shift: Form, mean: Form, changes: Any) -> Fraction:
    """The cost of a sample that is so much more in the second run; atom 0 is the first one's.

    In the first run it is around 0.
    """
    paths = tuple(Path({}, (Sample(family, each, size),)) for each in (Form(ZERO), mean))
    atoms = [only(0)], [only(0).plus(shift)]
    return Beside(paths, atoms, changes).cost()  # type: ignore[arg-type]


@pytest.mark.parametrize("family", ["Lap", "DLap"])
def test_integers_are_shifted_by_integers(family: str) -> None:
    changes = {1: (ZERO, F(2))}
    for shift in (form(HALF), form(0, (1, HALF)), form(1, (1, F(3, 2)))):
        if family == "DLap":
            with pytest.raises(Refuted, match="by a fraction"):
                shifted(family, ONE, shift, Form(ZERO), changes)
        else:
            assert shifted(family, ONE, shift, Form(ZERO), changes) > 0
    assert shifted(family, ONE, form(1, (1, 2)), Form(ZERO), changes) == 5


def test_paths_with_other_samples_are_not_matched() -> None:
    lap, other = Sample("Lap", Form(ZERO), ONE), Sample("Lap", Form(ZERO), F(2))
    gauss = Sample("Gauss", Form(ZERO), ONE)
    for one, two in [((lap,), (other,)), ((lap,), (gauss,)), ((lap,), ()), ((lap,), (lap, lap))]:
        atoms = [only(k) for k in range(len(one))], [only(k) for k in range(len(two))]
        with pytest.raises(Refuted, match="different samples"):
            Beside((Path({}, one), Path({}, two)), atoms, {}).cost()
    twice = Path({}, (lap, other))
    shifts = [only(0).plus(form(1)), only(1).plus(form(-3))]
    cost = Beside((twice, twice), ([only(0), only(1)], shifts), {}).cost()
    assert cost == 1 + F(3, 2)


def test_paths_publish_the_same() -> None:
    atoms = [only(0)], [only(0).plus(form(1))]

    def alike(own: Any, said: Any, guards: Any = ((), ())) -> None:
        first, second = (
            Path({}, (), guards=g, said=each) for g, each in zip(guards, (own, said), strict=True)
        )
        Beside((first, second), atoms, {}).require_alike()

    alike((0, "a", only(0).plus(form(1))), (0, "a", only(0)))
    alike((form(2),), (2,))
    one = (only(0), False)
    for own, said in (((0,), (1,)), (("a",), ("b",)), ((only(0),), (only(0),)), ((form(2),), (3,))):
        with pytest.raises(Refuted):
            alike(own, said)
    for guards in (((one,), ()), ((), (one,))):
        with pytest.raises(Refuted, match="other guards"):
            alike((), (), guards)


def followed(body: list[Json], whole: bool = False, **published: Json) -> list[Path]:
    """The paths of a body without rounds."""
    machine = stream(body, None, inputs=[["q", {"low": 0, "high": 1}]], whole=whole)
    machine["published"] |= {"whenever": [], "first": ["o"], **published}
    return Follower(read_rounds(machine)).start()


def drawn(family: str, power: int = -1) -> list[Json]:
    x, o = ["cell", "x"], ["cell", "o"]
    draw = ["draw", x, family, ["cell", "q"], [2, power]]
    return [draw, ["if", [">", x, 1], [["set", o, 1]], [["set", o, 0]]]]


def test_what_is_no_path_is_refused() -> None:
    one, other = followed(drawn("Lap"))
    assert {one.said, other.said} == {(0,), (1,)}
    assert [strict for path in (one, other) for _, strict in path.guards] in (
        [True, False],
        [False, True],
    )
    for power in (0, 1, -2):
        with pytest.raises(Refused, match="no multiple of 1 / eps"):
            followed(drawn("Lap", power))
    with pytest.raises(Refused, match="no integers"):
        followed(drawn("DLap"))
    assert len(followed(drawn("DLap"), whole=True)) == 2
    with pytest.raises(NotProved, match="has no value"):
        followed(drawn("Lap"), first=["o", "missing"])
    exits = [*drawn("Lap")[:1], ["exit"]]
    with pytest.raises(NotProved, match="has no value"):
        followed(exits)
    (path,) = followed(exits, first=["x"], whenever=["x"])
    assert path.ended
    assert path.said == (path.store["x"],) * 2
