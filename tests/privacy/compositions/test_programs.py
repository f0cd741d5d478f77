"""Programs many times: between pairs, with published numbers, against closed forms."""

from fractions import Fraction
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox import Enclosure, Limits, Options, UserError
from dipapprox.arithmetic.extended import Extended
from dipapprox.composition.accountant import Composition
from dipapprox.composition.mechanisms import Adjacency, Gaussian, Laplace, Masses
from dipapprox.composition.products import RepeatedRun
from dipapprox.pairs.hockey_stick import DOUBLE_BITS
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.compositions import real_programs
from dipapprox.privacy.compositions.mechanisms import RefinedPairs, worst_noise
from dipapprox.privacy.compositions.programs import bounds_of_program, hull, merged, undominated
from dipapprox.privacy.compositions.real_programs import Known, bounds_of_real_program, inner_hull
from dipapprox.privacy.run import Setting
from tests.cases import cases
from tests.cli.conftest import COIN, SVT
from tests.moved_noise import gaussian, laplace
from tests.texts import text_of

F = Fraction
Exact = list[tuple[Fraction, Fraction]]


def profile(masses: Exact, x: Fraction) -> Fraction:
    return sum((max(p - x * q, F(0)) for p, q in masses), F(0))


def lower(masses: tuple[tuple[Enclosure, Enclosure], ...]) -> Exact:
    return [(p.lower, q.lower) for p, q in masses]


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(0, 20)).filter(any), min_size=1, max_size=5
    ).filter(lambda pairs: all(map(sum, zip(*pairs, strict=True)))),
    st.lists(st.fractions(1, 20, max_denominator=9), min_size=1, max_size=6),
)
def test_a_hull_is_a_pair_above_what_it_is_made_of(counts, places) -> None:
    first, second = (sum(each) for each in zip(*counts, strict=True))
    one = [(F(p, first), F(q, second)) for p, q in counts]
    other = [(q, p) for p, q in one]
    xs = sorted({F(1), *places})
    points = [(x, max(profile(one, x), profile(other, x))) for x in xs]
    found = lower(hull(points))
    assert sum(p for p, _ in found) == sum(q for _, q in found) == 1
    for x in {F(1, 30), F(1, 3), F(1), F(3, 2), F(50), *xs, *(1 / x for x in xs)}:
        true = max(profile(one, x), profile(other, x))
        assert true <= profile(found, x) <= 1
        if x in xs:
            assert profile(found, x) == true


def enclosed(masses: Exact) -> list[tuple[Enclosure, Enclosure]]:
    return [(Enclosure.exact(p), Enclosure.exact(q)) for p, q in masses]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), min_size=2, max_size=4),
        min_size=1,
        max_size=8,
    )
)
def test_kept_pairs_are_above_all_others(counts) -> None:
    rows = []
    for pairs in counts:
        first, second = (sum(each) for each in zip(*pairs, strict=True))
        rows.append([(F(p, first), F(q, second)) for p, q in pairs])
    kept = [lower(masses) for masses, _ in undominated([enclosed(row) for row in rows])]
    assert 1 <= len(kept) <= len(rows)
    places = [F(k, 12) for k in range(1, 40)]
    for row in rows:
        assert any(all(profile(row, x) <= profile(each, x) for x in places) for each in kept)


def test_ratios_beyond_doubles_are_looked_at_somewhere_else() -> None:
    tiny = F(1, 2**1070)
    row = enclosed([(F(1, 2), tiny), (F(1, 2), 1 - tiny)])
    ((masses, _),) = undominated([row])
    for x in (F(1, 2), F(1), F(3), F(2**200)):
        assert profile([(p.upper, q.lower) for p, q in row], x) <= profile(lower(masses), x)


def test_kept_pairs_are_above_all_that_enclosures_allow() -> None:
    half, wide = F(1, 2), F(1, 20)
    row = [
        (Enclosure(half - wide, half + wide), Enclosure(F(1, 4) - wide, F(1, 4) + wide)),
        (Enclosure(half - wide, half + wide), Enclosure(F(3, 4) - wide, F(3, 4) + wide)),
    ]
    ((masses, _),) = undominated([row])
    for x in (F(1), F(3, 2), F(2), F(3)):
        most = min(profile([(p.upper, q.lower) for p, q in row], x), F(1))
        assert most <= profile(lower(masses), x) + F(1, 10**9)


def test_merging_loses_no_mass() -> None:
    row = enclosed([(F(1, 4), F(1, 8)), (F(1, 2), F(1, 4)), (F(1, 4), F(5, 8)), (F(0), F(0))])
    found = merged(row)
    assert len(found) == 2
    assert sum(p.lower for p, _ in found) == sum(q.lower for _, q in found) == 1


def test_a_program_is_between_its_pairs() -> None:
    program = dipapprox.parse(SVT)
    found = bounds_of_program(
        Setting(program, AllPairs(), Options()),
        F(1, 2),
        Adjacency.ADD_REMOVE,
        10,
        F(1, 2**DOUBLE_BITS),
    )
    for budget in ("0", "1/8"):
        true = dipapprox.profile(program, eps="1/2", eps_prv=budget).delta_enclosure
        composed = dipapprox.compose([{"program": program, "eps": "1/2"}])
        assert composed.delta(budget).delta_enclosure.meets(true)
    assert found.worst and len(found.chosen) <= len(found.worst)


def test_programs_that_tell_all() -> None:
    program = dipapprox.parse(COIN)
    answer = dipapprox.compose([{"program": program, "eps": 1, "times": 2}]).epsilon("0.01", "0.1")
    found = answer.eps_prv_enclosure
    assert found.lower is None or found.upper is None
    alone = dipapprox.parse(COIN.replace("{0, 1}\noutput", "{0}\noutput"))
    with pytest.raises(UserError, match="no two different inputs are adjacent"):
        dipapprox.compose([{"program": alone, "eps": 1}]).epsilon("0.01")


@pytest.mark.parametrize(("metric", "cells", "runs", "alone"), [("l1", 7, 3, 3), ("linf", 4, 2, 8)])
def test_independent_parts_cost_what_single_runs_of_those_that_change_do(
    metric, cells, runs, alone
) -> None:
    def least(size: int, times: int) -> Extended:
        program = dipapprox.parse(
            text_of("privacy/compositions-histogram").replace("l1", metric), {"N": size}
        )
        run = {"program": program, "eps": "1/5", "times": times}
        found = dipapprox.compose([run]).epsilon("1e-6").eps_prv_enclosure
        assert found is not None
        return found

    parts, single = least(cells, runs), least(1, alone)
    assert parts.enclosure().meets(single.enclosure())
    assert parts.is_within(F(1, 10**6)) and single.is_within(F(1, 10**3))


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=3),
        min_size=1,
        max_size=4,
    ),
    st.fractions(0, 20, max_denominator=9),
)
def test_merged_outputs_are_above_what_they_are_merged_of(groups, x) -> None:
    small = F(1, 10**14)
    row = [
        (Enclosure(F(p), p + small), Enclosure(F(q), q + small)) for each in groups for p, q in each
    ]
    found = merged(row + row)
    assert len(found) <= len(row)
    most = sum(2 * max(p.upper - x * q.lower, F(0)) for p, q in row)
    assert sum(max(p.upper - x * q.lower, F(0)) for p, q in found) >= most
    for k in range(2):
        assert sum(each[k].upper for each in found) == 2 * sum(each[k].upper for each in row)
        assert sum(each[k].lower for each in found) <= 2 * sum(each[k].lower for each in row)


# --- Programs that publish real numbers, many times -----------------------------------------------

NOISE = "input q in 0..1\noutput y in real\nadjacent linf 1\ny <- {law}\n"


def height(masses: Masses, alpha: float) -> float:
    return sum(max(float(p.lower) - alpha * float(q.lower), 0.0) for p, q in masses)


@given(
    st.sampled_from([gaussian, laplace]),
    st.floats(0.2, 3),
    st.sets(st.integers(1, 4000), min_size=2, max_size=9),
    st.integers(8, 40),
)
def test_hulls_are_below_what_is_known(profile, shift, places, bits) -> None:
    """However few places there are, and however wide the intervals."""
    assert callable(profile)
    known: list[Known] = []
    for place in sorted(places):
        value = F(profile(shift, log(place / 200)))
        doubt = F(1, 2**bits)
        known.append((F(place, 200), max(value - doubt, F(0)), value + doubt))
    masses = inner_hull(known)
    assert all(p.lower >= 0 and q.lower >= 0 for p, q in masses)
    assert sum(p.lower for p, _ in masses) == 1 == sum(q.lower for _, q in masses)
    for k in range(1, 2400, 150):
        alpha = k / 100
        assert height(masses, alpha) <= profile(shift, log(alpha)) + 1e-12


TWO = "input q in 0..2\noutput {outputs} in real\nadjacent linf 1\n{laws}\n"


def every(program: dipapprox.Program) -> Setting:
    return Setting(program, AllPairs(), Options())


@cases(
    "outputs, laws, mechanism",
    ("y", "y <- Gauss(q * q, 2)", Gaussian(F(3), F(2))),
    ("y, z", "y <- Gauss(3 * q, 1)\nz <- Gauss(-4 * q, 1)", Gaussian(F(5), F(1))),
    ("y, z", "y <- Lap(q * q, 2 / eps)\nz <- Gauss(0, 1)", Laplace(F(3), F(2))),
)
def test_noise_alone_is_a_mechanism(outputs, laws, mechanism) -> None:
    """Of the catalogue: the same composition, with the worst of several pairs."""
    program = dipapprox.parse(TWO.format(outputs=outputs, laws=laws))
    found = worst_noise(every(program), F(1), Adjacency.ADD_REMOVE)
    assert found is not None
    both = [
        Composition((RepeatedRun(each, 4),)).epsilon(F(1, 1000), F(1, 10**4), Limits()).bounds[0]
        for each in (found, mechanism)
    ]
    assert all(each.is_within(F(1, 10**4)) for each in both)
    (low, high), (other_low, other_high) = ((b.lower, b.upper) for b in both)
    assert low <= other_high and other_low <= high


@cases(
    "laws",
    "y <- Lap(q, 1)\nz <- Lap(q, 1)",
    "y <- Gauss(q, 1)\nz <- Lap(q, 1)",
    "x <- Gauss(q, 1)\ny <- x + q\nz <- x - q",
    "if q = 0 then\n  y <- Gauss(0, 1)\nelse\n  y <- Gauss(0, 2)\nend\nz <- Gauss(q, 1)",
)
def test_other_programs_have_no_such_pair(laws) -> None:
    program = dipapprox.parse(TWO.format(outputs="y, z", laws=laws))
    assert worst_noise(every(program), F(1), Adjacency.ADD_REMOVE) is None


def test_searches_of_hulls_end(monkeypatch) -> None:
    """Hulls stay apart between their places, and no grid brings them together."""
    monkeypatch.setattr(real_programs, "_MOST_PLACES", 12)
    laws = "z <- Gauss(q, 2)\nx <- Lap(q, 2)\ny <- x + z"
    program = dipapprox.parse(NOISE.format(law="0").replace("y <- 0", laws))
    found = bounds_of_real_program(every(program), F(1), Adjacency.ADD_REMOVE, F(1, 10**6))
    runs = (RepeatedRun(found, 3),)
    answer = Composition(runs).epsilon(F(1, 100), F(1, 10**5), Limits(atoms=10**6))
    (bounds,) = answer.bounds
    assert "no narrower" in answer.reason
    assert bounds.lower < bounds.upper


@pytest.mark.parametrize(("law", "profile"), [("Gauss(q, 2)", gaussian), ("Lap(q, 2)", laplace)])
def test_pairs_get_finer(law, profile) -> None:
    """Each is between what is run from above and from below, and these come together."""
    assert callable(profile)
    text = NOISE.replace("0..1", "0..2").format(law=law)
    pairs = RefinedPairs(every(dipapprox.parse(text)), F(1), Adjacency.ADD_REMOVE, F(1, 10**8))
    widest = []
    for _ in range(2):
        found = pairs.between()
        assert found.worst and len(found.worst) == len(found.chosen)
        gaps = []
        for above, below in zip(found.worst, found.chosen, strict=True):
            for k in range(1, 60):
                alpha = k / 20
                low, high = height(below, alpha), height(above, alpha)
                assert low - 1e-12 <= profile(0.5, log(alpha)) <= high + 1e-12
                gaps.append(high - low)
        widest.append(max(gaps))
        assert pairs.refine()
    assert widest[1] < widest[0] / 2 < 0.003


def test_several_worst_pairs_are_chosen_from() -> None:
    """Constants that are published as numbers compose as finite outputs do."""
    tail = (
        "adjacent linf 1\nout <- 0\nr <- Lap(q, 1)\ns <- Lap(2 * q * q, 2)\n"
        "if r >= 1 then\n out <- 1\nelif s > 3 then\n out <- 2\nend\n"
    )
    answers = []
    for output in ("output out in 0..2", "output out in real"):
        program = dipapprox.parse(f"input q in 0..2\n{output}\n{tail}")
        composed = dipapprox.compose([{"program": program, "eps": 1, "times": 6}])
        answers.append(composed.epsilon("1e-3", "0.01"))
    (low, high), (least, most) = (
        (each.eps_prv_enclosure.lower, each.eps_prv_enclosure.upper)
        for each in answers
        if each.eps_prv_enclosure is not None
    )
    assert low <= most and least <= high and most - least <= F(1, 100)
