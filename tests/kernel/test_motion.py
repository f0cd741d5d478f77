"""How probabilities move with real inputs, against probabilities at many inputs; sets of pairs."""

import random
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations, islice, pairwise, product
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.kernel.errors import NotProved, Refused
from dipapprox.kernel.machine import NORMS, Adjacency, Machine, Output, adjacent_pairs, read_machine
from dipapprox.kernel.motion import Motion
from dipapprox.kernel.proofs import Proof, distributions, pairs_of
from dipapprox.kernel.sets import Sets, Zone, all_sets, clipped, extent, representatives
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from dipapprox.proof_steps.verdicts import single_inputs
from kernel.machines import cell, finite, judged
from kernel.small import program_of
from tests.cases import THOROUGH, cases, check_answers, part, refuses, texts_in

HALF = Fraction(1, 2)
SIDES = ("first", "second", "change")

HEAD = """
input q[2] in real -2..2
output o in 0..3
adjacent linf 1
"""


def machine_of(text: str) -> Machine:
    """Statements stand two blanks apart."""
    return read_machine(json_of(text))


def json_of(text: str) -> Any:
    return machine_json(program_of("\n".join(text.split("  "))))


def motion_of(body: str, head: str = HEAD) -> Motion:
    return Motion(machine_of(head + body))


def probabilities(
    machine: Machine, inputs: list[tuple[Fraction, ...]], eps: Fraction = HALF
) -> dict[tuple[Fraction, ...], Mapping[Output, float]]:
    listed: list[Any] = [[number_json(value) for value in each] for each in inputs]
    proof = Proof(machine, None)
    found = distributions(proof, {"eps": number_json(eps), "inputs": listed, "bits": 50})
    return {
        each: {
            output: low / 2**found.places
            for output, low in zip(found.outputs, found.bounds[each][0], strict=True)
        }
        for each in inputs
    }


# --- directions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", ["ordered", "unordered"])
def test_probabilities_that_move_in_one_direction(folder) -> None:
    for name, text in texts_in(folder).items():
        assert motion_of(text, "").is_ordered(0) == (folder == "ordered"), name


# --- random machines -----------------------------------------------------------------------------


def around(body: list[Any], *more: Any) -> Any:
    """A machine with two real inputs, or more inputs."""
    inputs = [*([name, {"low": -2, "high": 2}] for name in "uv"), *more]
    near = {"norm": "linf", "radius": 1}
    return finite(body, inputs=inputs, outputs=[["o", [0, 1, 2]]], adjacency=near)


class RandomMachines:
    """Trees of comparisons of a few samples around two inputs, with outputs at the leaves."""

    def __init__(self, seed: int) -> None:
        self._source = random.Random(seed)

    def machine(self) -> Any:
        source, body = self._source, []
        count = source.randint(1, 3)
        for k in range(count):
            mean: Any = source.randint(-1, 1)
            for name in "uv":
                slope = source.choice([-1, 0, 0, 1, 1, 2]) * (k != 1)
                mean = ["+", mean, ["*", slope, ["cell", name]]]
            family = source.choice(["Gauss", "Lap"])
            body.append(["draw", ["cell", f"x{k}"], family, mean, [source.choice([1, 2]), 0]])
        if source.random() < 0.3:
            options = [[0, "1/3"], [1, "2/3"]]
            body.append(["choose", ["cell", "c"], options, False])
        else:
            body.append(["set", ["cell", "c"], 0])
        body.append(self._tree(count, source.randint(1, 3)))
        return around(body)

    def _tree(self, count: int, depth: int) -> Any:
        source = self._source
        if not depth or (depth < 3 and source.random() < 0.3):
            return ["set", ["cell", "o"], source.randint(0, 2)]
        left: Any = ["cell", f"x{source.randrange(count)}"]
        right: Any = source.choice([["cell", "c"], source.randint(-1, 1), ["cell", "x0"]])
        if left == right:
            right = 0
        if source.random() < 0.3:
            left = ["+", left, ["*", source.choice([-1, 1, 2]), ["cell", source.choice("uv")]]]
        parts = [[self._tree(count, depth - 1)] for _ in range(2)]
        return ["if", [source.choice(["<", "<=", ">", ">="]), left, right], *parts]


class RandomCourses:
    """Blocks that draw, compare, keep, forget and end, one after another."""

    def __init__(self, seed: int) -> None:
        self._source = random.Random(seed)

    def machine(self) -> Any:
        source = self._source
        body = [["set", ["cell", "o"], 0], ["set", ["cell", "c"], source.randint(0, 1)]]
        body += [self._draw("x"), self._draw("y"), *self._block(3, 2)]
        return around(body, ["f", [0, 1]])

    def _draw(self, name: str) -> Any:
        source = self._source
        mean: Any = source.choice(
            [0, 1, ["cell", "f"], ["cell", "u"], ["cell", "u"], ["cell", "v"]]
        )
        if source.random() < 0.3:
            mean = ["+", mean, ["*", source.choice([-1, 1]), ["cell", "u"]]]
        return ["draw", ["cell", name], source.choice(["Gauss", "Lap"]), mean, [1, 0]]

    def _block(self, count: int, depth: int) -> list[Any]:
        return [self._statement(depth) for _ in range(self._source.randint(1, count))]

    def _statement(self, depth: int) -> Any:
        source = self._source
        kind = source.random()
        if kind < 0.5 and depth:
            blocks = [self._block(2, depth - 1) for _ in range(2)]
            for block in blocks:
                if source.random() < 0.3:
                    block.append(["exit"])
            return ["if", self._condition(), *blocks]
        if kind < 0.6:
            return self._draw(source.choice("xy"))
        if kind < 0.7:
            return ["set", ["cell", "x"], ["cell", "y"]]
        if kind < 0.8:
            return ["choose", ["cell", "c"], [[0, "1/3"], [1, "2/3"]], False]
        values: list[Any] = [0, 1, 2, ["cell", "c"], ["cell", "f"]]
        return ["set", ["cell", "o"], source.choice(values)]

    def _condition(self) -> Any:
        source = self._source
        relation = source.choice(["<", "<=", ">", ">="])
        if source.random() < 0.2:
            other = source.choice(["c", "f"])
            return ["=", ["cell", other], 1]
        x: Any = ["cell", "x"]
        right = source.choice([0, ["cell", "c"], ["cell", "f"], ["cell", "y"], ["cell", "y"]])
        one = [relation, x, right]
        if source.random() < 0.2:
            return [source.choice(["and", "or"]), one, [">", ["cell", "y"], 0]]
        return one


class RandomTurns(RandomCourses):
    """The same, in turns, with choices whose weights depend on what was decided."""

    def machine(self) -> Any:
        machine, source = super().machine(), self._source
        body = machine["body"]
        for place in range(2, len(body)):
            if source.random() < 0.4:
                body[place] = ["repeat", source.randint(1, 2), [body[place], self._statement(1)]]
        return machine

    def _statement(self, depth: int) -> Any:
        source = self._source
        if source.random() > 0.15:
            return super()._statement(depth)
        part: Any = ["*", "1/3", ["cell", source.choice("cf")]]
        options = [[0, ["+", "1/3", part]], [1, ["+", "2/3", ["*", -1, part]]]]
        return ["choose", ["cell", "c"], options, False]


def sets_of(outputs: set[Output]) -> list[tuple[Output, ...]]:
    return [
        some for k in range(1, len(outputs)) for some in combinations(sorted(outputs, key=repr), k)
    ]


@pytest.mark.parametrize(
    "made", [RandomTurns(4), RandomCourses(3), *part([RandomMachines(1), RandomMachines(2)], 2)]
)
def test_random_machines_move_as_is_said(made) -> None:
    """Directions and second differences, at the points of a grid."""
    points = [Fraction(k, 2) for k in range(-4, 5)]
    ordered = moved = apart = 0
    for _ in range(3 if isinstance(made, RandomTurns) else 12 if THOROUGH else 8):
        machine = read_machine(made.machine())
        finite = [domain for _, domain in machine.inputs[2:]]
        others = list(product(points[::4], *finite))  # type: ignore[arg-type]
        try:
            motion = Motion(machine)
            found = probabilities(machine, [(a, *other) for a, other in product(points, others)])
        except NotProved:
            continue
        outputs = {output for own in found.values() for output in own if own[output]}
        assert {(output,) for output in outputs} <= motion.ends
        is_ordered = motion.is_ordered(0)
        try:
            bound = float(motion.curvature(0, HALF))
        except Refused:
            bound, apart = inf, apart + 1
        for some in sets_of(outputs):
            lines = []
            for other in others:
                own = [found[(point, *other)] for point in points]
                lines.append([sum(each.get(output, 0) for output in some) for each in own])
            steps = [b - a for line in lines for a, b in pairwise(line)]
            if is_ordered:
                assert min(steps) >= -1e-12 or max(steps) <= 1e-12
                ordered += max(map(abs, steps)) > 1e-3
            for line in lines:
                for a, b, c in zip(line, line[1:], line[2:], strict=False):
                    assert abs(a - 2 * b + c) <= bound / 4 + 1e-12
                    moved += abs(a - 2 * b + c) > bound / 16
    assert ordered > 1
    assert moved > 1 or isinstance(made, RandomCourses)
    assert apart < 11


# --- curvature -----------------------------------------------------------------------------------

BAND = "x <- {}(q[1], {})  o <- 0  if x >= -{} and x <= {} then o <- 1 end"


@cases(
    "family, scale, end, largest",
    # Bands whose probability is most curved: |phi''| turns at one sigma; of Laplace noise all
    # but a peak.
    ("Gauss", 1, "1", Fraction(484, 1000)),
    ("Gauss", 2, "2", Fraction(121, 1000)),
    ("Lap", 1, "1/100", Fraction(1)),
    ("Lap", 2, "1/50", Fraction(1, 4)),
)
def test_bounds_of_curvature_are_right_and_hardly_too_large(family, scale, end, largest) -> None:
    body = BAND.format(family, scale, end, end)
    motion, step = motion_of(body), Fraction(1, 50) * scale
    assert motion.curvature(0, HALF) == largest
    assert motion.curvature(1, HALF) == 0
    points = [(k * step, Fraction(0)) for k in (-1, 0, 1)]
    before, here, after = (
        each[(1,)] for each in probabilities(motion.machine, points, HALF).values()
    )
    found = abs(before - 2 * here + after) / float(step * step)
    assert 0.45 * float(largest) < found <= float(largest)


U, X, Y, OUT = (cell(name) for name in ("u", "x", "y", "o"))


def motion_around(*body: Any) -> Motion:
    machine = finite(list(body), inputs=[["u", {"low": 0, "high": 1}]])
    return Motion(read_machine(machine))


PUBLISHED = """
input q[2] in real 0..1
input c in {0, 1}
output y in real
output z in real
adjacent linf 1
"""


def shifts(body: str) -> tuple[bool, ...]:
    """Whether inputs shift what is published, and in order."""
    motion = motion_of(body, PUBLISHED)
    return motion.is_shift, motion.is_ordered(0), motion.is_ordered(1)


def publishing(*body: Any) -> Motion:
    inputs = [["u", {"low": 0, "high": 1}]]
    return Motion(read_machine(finite(list(body), inputs=inputs, outputs=[], reals=["y"])))


def changes(domain: str, adjacency: str) -> list[tuple[str, ...]]:
    """Changes that are enough where ranges do not count."""
    machine = machine_of(SHIFTED.format(domain, adjacency))
    found, domains = representatives(machine), [domain for _, domain in machine.inputs]
    for pair in found:
        assert all(u[k] in domain for u in pair for k, domain in enumerate(domains))
    own = {tuple(b - a for a, b in zip(*pair, strict=True)) for pair in found}  # type: ignore[operator]
    return [tuple(map(str, each)) for each in sorted(own)]


SHIFTED = (
    "input q[2] in real {}\noutput y in real\nadjacent {}\n  x <- Lap(0, 1)  y <- x + q[1] + q[2]"
)


@pytest.mark.parametrize("ends", [(None, -3), (5, None), (None, None), (0, 3)])
def test_sets_lie_in_ranges_and_have_all_changes(ends) -> None:
    given = json_of(SHIFTED.format("0..1", "linf 2"))
    for named in given["inputs"]:
        named[1] = dict(zip(("low", "high"), ends, strict=True))
    machine = read_machine(given)
    (pairs,) = all_sets(machine, True)
    for zone, domain in zip(pairs.zones, machine.domains, strict=True):
        assert extent(zone, "change") == (-2, 2)
        assert all(u in domain and v in domain for u, v in zone)
    if None in ends:
        refuses(Refused, None, list, all_sets(machine, False))


# --- zones and sets ------------------------------------------------------------------------------

GRID = [Fraction(k, 2) for k in range(-2, 5)]


def zone_of(first: Any, second: Any, change: Any) -> Zone:
    """The pairs whose sides lie between these ends."""
    zone: Zone = tuple(sorted(set(product(first, second))))
    for sign, at in zip((-1, 1), change, strict=True):
        zone = clipped(zone, "change", at, sign)
    return zone


def in_zone(zone: Zone, u: Any, v: Any) -> bool:
    """Edges of zones are where a side is at an end."""
    if not zone or zone == ((u, v),):
        return bool(zone)
    ends = [extent(zone, side) for side in SIDES]
    return all(low <= value <= high for value, (low, high) in zip((u, v, v - u), ends, strict=True))


def zones(seed: int, count: int) -> list[tuple[Any, Zone]]:
    source, found = random.Random(seed), []
    for _ in range(count):
        ends: Any = [tuple(sorted(source.choices(GRID, k=2))) for _ in range(3)]
        found.append((ends, zone_of(*ends)))
    return found


def test_cuts_cover_and_ends_are_where_no_move_is_possible() -> None:
    for number, (_, zone) in enumerate(zones(3, 100)):
        if len(zone) < 2:
            continue
        inside = [pair for pair in product(GRID, GRID) if in_zone(zone, *pair)]
        side, at = SIDES[number % 3], GRID[number % 7]
        below, above = Sets((zone,)).cut(0, side, at)
        halves = [() if each is None else each.zones[0] for each in (below, above)]
        for u, v in inside:
            value = {"first": u, "second": v, "change": v - u}[side]
            assert in_zone(halves[0], u, v) == (value <= at)
            assert in_zone(halves[1], u, v) == (value >= at)
        for half, sign in zip(Sets((zone,)).ends(0), (1, -1), strict=True):
            stuck = {
                (u, v)
                for u, v in inside
                if not in_zone(zone, u + sign * HALF, v) and not in_zone(zone, u, v - sign * HALF)
            }
            assert stuck == {pair for pair in inside if in_zone(half.zones[0], *pair)}


ADJACENCIES = ["linf 1", "linf 1/2", "l1 1", "l1 3/2", "l0 1", "l0 2", "all"]
ADJACENCIES += ["increasing 1", "decreasing 1/2", "l1 0", "linf 0"]

MIXED = """
input q[2] in real -1..2
input c in {{0, 1}}
output o in 0..1
adjacent {}
o <- 0
"""


@pytest.mark.parametrize("adjacency", part(ADJACENCIES, 3))
def test_sets_hold_all_adjacent_pairs(adjacency) -> None:
    machine = machine_of(MIXED.format(adjacency))
    sets = list(all_sets(machine, False))
    inputs = list(product(GRID[:4], GRID[:4], (0, 1)))
    # `ends` of a set bound what its pairs do, wherever they are.
    met = 0
    for u, v in product(inputs, inputs):
        held = [
            each
            for each in sets
            if all(
                in_zone(zone, *pair) if len(zone) > 1 else zone == (pair,)
                for zone, pair in zip(each.zones, zip(u, v, strict=True), strict=True)
            )
        ]
        if machine.adjacency.holds(u, v):
            assert held
            met += 1
        elif not adjacency.startswith("l1") and u != v:
            assert not held
    assert met == 0 if adjacency.endswith(" 0") else met > 0


def test_ends_of_shared_changes_keep_pairs_adjacent() -> None:
    """A move to where a change is least may not need more than is left of l1."""
    machine = machine_of(MIXED.format("l1 1"))
    for pairs in all_sets(machine, False):
        for half in (half for half in pairs.ends(0) if half is not None):
            low, high = extent(half.zones[0], "change")
            assert low == 0 or high == 0
            assert half.ends(0)[0 if high == 0 else 1] == half


@given(
    st.lists(
        st.sets(st.integers(-2, 3), min_size=1, max_size=4).map(sorted), min_size=1, max_size=3
    ),
    st.sampled_from([*NORMS, "all"]),
    st.integers(0, 3),
)
def test_pairs_of_many_inputs_are_one_of_each_difference(values, norm, radius) -> None:
    adjacency, domains = Adjacency(norm, radius), list(map(tuple, values))

    def change(pair: Any) -> tuple[int, ...]:
        return tuple([b - a for a, b in zip(*pair, strict=True)])

    found = [*adjacent_pairs(adjacency, domains, by_difference=True)]
    every = {change(pair) for pair in adjacent_pairs(adjacency, domains)}
    assert sorted(map(change, found)) == sorted(every)
    assert all(adjacency.holds(*pair) for pair in found)
    assert all(a in own for pair in found for u in pair for a, own in zip(u, domains, strict=True))


MANY = "input q[20] in 0..2  output y[20] in real  adjacent l1 1  for i in 1..20 do y[i] <- {} end"


def test_of_very_many_inputs_that_move_numbers_one_pair_of_each_difference_is_enough() -> None:
    for noise in ("Lap(q[i], 1)", "q[i] + Gauss(0, 1)"):
        proof = Proof(machine_of(MANY.format(noise)), None)
        assert proof.in_sets
        assert len([*pairs_of(proof)]) == 40
    told = MANY.format("Lap(q[i], 1)") + "  z <- Lap(q[1], 1)  if z > 0 then y[1] <- z end"
    guarded = Proof(machine_of(told), None)
    assert not guarded.in_sets
    assert len([*islice(pairs_of(guarded), 100)]) == 100
    alone = MANY.format("Lap(q[i], 1)") + "  if q[1] > 0 then y[1] <- 0 end"
    assert not Proof(machine_of(alone), None).in_sets
    few = MANY.replace("20", "2").format("Lap(q[i], 1)")
    assert not Proof(machine_of(few), None).in_sets
    named = MANY.format("Lap(0, 1)").replace("0..2", "{a, b, c}").replace("l1 1", "all")
    assert not Proof(machine_of(named), None).in_sets


def left(place: int, side: Any, at: Fraction) -> tuple[bool, bool]:
    """Whether any pairs are below and above, where most of a share is used up."""
    machine = machine_of(MIXED.format("l1 1"))
    (pairs,) = (each for each in all_sets(machine, False) if each.zones[2] == ((0, 0),))
    _, most = pairs.cut(0, "change", Fraction(3, 4))
    below, above = most.cut(place, side, at)
    return below is not None, above is not None


def test_what_is_followed_and_how_far_it_moves() -> None:
    """Noise takes along what stands beside it, wherever it is compared first.

    Noise that is compared twice, or before, is not free; what is compared differently is beside it.
    """
    asked = {"single_inputs": single_inputs, "Adjacency": Adjacency}
    check_answers("kernel_motion", judged(globals() | asked))
