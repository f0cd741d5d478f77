"""Programs that publish real numbers, many times: bounds against closed forms."""

from fractions import Fraction
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

import dipapprox
from dipapprox.composition.accountant import Composition
from dipapprox.composition.mechanisms import Adjacency, Gaussian, Laplace, Masses, Mechanism
from dipapprox.composition.pieces import RepeatedRun
from dipapprox.limits import Limits
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.compositions import real_programs
from dipapprox.privacy.compositions.mechanisms import worst_noise
from dipapprox.privacy.compositions.real_pairs import RefinedPairs
from dipapprox.privacy.compositions.real_programs import Known, bounds_of_real_program, inner_hull
from dipapprox.privacy.options import Options
from dipapprox.privacy.run import Setting
from tests.moved_noise import gaussian, laplace

F = Fraction
NOISE = "input q in 0..1\noutput y in real\nadjacent linf 1\ny <- {law}\n"


def height(masses: Masses, alpha: float) -> float:
    return sum(max(float(p.lower) - alpha * float(q.lower), 0.0) for p, q in masses)


@given(
    st.sampled_from([gaussian, laplace]),
    st.floats(0.2, 3),
    st.sets(st.integers(1, 4000), min_size=2, max_size=9),
    st.integers(8, 40),
)
def test_hulls_are_below_what_is_known(
    profile: object, shift: float, places: set[int], bits: int
) -> None:
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
    """All pairs of a program."""
    return Setting(program, AllPairs(), Options())


@pytest.mark.parametrize(
    ("outputs", "laws", "mechanism"),
    [
        ("y", "y <- Gauss(q * q, 2)", Gaussian(F(3), F(2))),
        ("y, z", "y <- Gauss(3 * q, 1)\nz <- Gauss(-4 * q, 1)", Gaussian(F(5), F(1))),
        ("y, z", "y <- Lap(q * q, 2 / eps)\nz <- Gauss(0, 1)", Laplace(F(3), F(2))),
    ],
)
def test_noise_alone_is_a_mechanism(outputs: str, laws: str, mechanism: Mechanism) -> None:
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


@pytest.mark.parametrize(
    "laws",
    [
        "y <- Lap(q, 1)\nz <- Lap(q, 1)",
        "y <- Gauss(q, 1)\nz <- Lap(q, 1)",
        "x <- Gauss(q, 1)\ny <- x + q\nz <- x - q",
        "if q = 0 then\n  y <- Gauss(0, 1)\nelse\n  y <- Gauss(0, 2)\nend\nz <- Gauss(q, 1)",
    ],
)
def test_other_programs_have_no_such_pair(laws: str) -> None:
    program = dipapprox.parse(TWO.format(outputs="y, z", laws=laws))
    assert worst_noise(every(program), F(1), Adjacency.ADD_REMOVE) is None


def test_searches_of_hulls_end(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_pairs_get_finer(law: str, profile: object) -> None:
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
