"""Pipelines and programs many times: claims, exports, files, and closed forms between pairs."""

import json
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

import dipapprox
from dipapprox import Answer, Composed, Enclosure, Limits, Options, Outcome, Replay, UserError
from dipapprox.arithmetic.extended import Extended
from dipapprox.composition.accountant import Composition
from dipapprox.composition.mechanisms import Adjacency, Atoms, Between, Gaussian, Laplace, Masses
from dipapprox.composition.products import RepeatedRun
from dipapprox.limits import limited
from dipapprox.pairs.hockey_stick import DOUBLE_BITS
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.compositions import real_programs
from dipapprox.privacy.compositions.mechanisms import worst_noise
from dipapprox.privacy.compositions.pipeline import Pipeline, PipelineRun
from dipapprox.privacy.compositions.programs import bounds_of_program, hull, merged, undominated
from dipapprox.privacy.compositions.real_programs import Known, RefinedPairs, inner_hull
from dipapprox.privacy.run import Setting
from dipapprox.questions.pipelines import CATALOGUE
from dipapprox.replays.result import digest
from tests.cases import THOROUGH, cases, part, refuses, text_of
from tests.cli.conftest import COIN, SVT
from tests.moved_noise import gaussian, laplace

F = Fraction


def test_gaussian_releases_are_one() -> None:
    """20 of sigma 5: budgets, deltas, curves between their points, and another accountant."""
    composed = dipapprox.compose([{"mechanism": "gaussian", "sigma": 5, "times": 20}])
    shift = sqrt(20) / 5
    true = optimize.brentq(lambda e: gaussian(shift, e) - 1e-6, 0, 50, xtol=1e-13)
    answer = composed.epsilon("1e-6")
    found = answer.eps_prv_enclosure
    assert float(found.lower) - 1e-9 <= true <= float(found.upper) + 1e-9
    assert found.upper - found.lower <= F(1, 1000) and answer.reason is None
    assert composed.epsilon(0).eps_prv_enclosure.infinite
    assert composed.verify(100, 0).answer is Answer.NOT_DP
    for budget in ("0", "1", "2.5"):
        delta = composed.delta(budget).delta_enclosure
        true = gaussian(shift, float(F(budget)))
        assert float(delta.lower) * (1 - 1e-9) <= true <= float(delta.upper) * (1 + 1e-9)
        assert delta.width <= delta.upper / 1000
    curve = composed.curve(0, 2, 9).curve
    assert len(curve.points) == 9
    for k in range(1, 40):
        found, true = curve.at(F(k, 20)), gaussian(shift, k / 20)
        assert float(found.lower) - 1e-9 <= true <= float(found.upper) + 1e-9
        assert k % 5 or found.width <= F(1, 10**6)
    refuses(UserError, "covers", curve.at, 3)
    lower, upper = composed.to_pld("0.01")
    other = pld.from_two_probability_mass_functions(lower, upper, symmetric=False)
    for budget in (0.5, 1.0, 2.0):
        true = gaussian(shift, budget)
        assert true <= other.get_delta_for_epsilon(budget) * (1 + 1e-6) <= true * 1.01 + 1e-9


def test_claims_just_inside_and_outside() -> None:
    composed = dipapprox.compose([{"mechanism": "laplace", "scale": 20, "times": 100}])
    known = composed.delta(1, "1e-6").delta_enclosure
    inside, outside = known.upper + F(1, 10**6), known.lower - F(1, 10**6)
    for delta, expected in ((inside, Answer.DP), (outside, Answer.NOT_DP)):
        answer = composed.verify(1, delta)
        assert answer.answer is expected and answer.reason is None
        assert answer.delta_enclosure.meets(known)
    limited = Composed(composed.pipeline, Options(limits=Limits(atoms=100)))
    answer = limited.verify(1, inside)
    assert answer.answer is Answer.UNKNOWN
    assert "atom limit" in answer.reason


def test_pairs_that_may_be_bounds_only_have_no_greatest_loss() -> None:
    """A mechanism that is below a pair may be far below it at δ = 0."""
    masses = tuple((Enclosure.exact(F(a, 4)), Enclosure.exact(F(4 - a, 4))) for a in (3, 1))
    pair = Atoms(masses, symmetric=True, attained=False)
    for known in (pair, Between(pair, Atoms(masses))):
        run = PipelineRun(known, "something", 2)
        found = Composed(Pipeline((run,), Adjacency.ADD_REMOVE)).epsilon(0).eps_prv_enclosure
        assert found.lower == 0 and found.upper is None


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_entry_of_the_catalogue_is_composed(name) -> None:
    values = {
        "sigma": 8, "scale": 9, "probability": "0.55", "eps": "1/9", "rho": "1/100",
        "orders": [[2, "1/50"], [16, "1/5"]],
    }  # fmt: skip
    table = {key: values[key] for key in CATALOGUE[name].parameters if key in values}
    for sample in part(({"subsample": "1/10"}, {}), 2):
        run = {"mechanism": name, **table, **sample, "times": 5 if THOROUGH else 2}
        answer = dipapprox.compose([run], adjacency="add/remove").epsilon("1e-4", "0.05")
        found = answer.eps_prv_enclosure
        assert 0 <= found.lower <= found.upper < 5
        fields = answer.to_dict()
        assert fields["runs"][0]["name"] == name and answer.describe().headline


def test_the_kernel_confirms_claims_and_ends() -> None:
    """Ends are moved outward by no more than the width of what was found."""
    runs = [{"mechanism": "gaussian", "sigma": 4, "subsample": "1/10", "times": 50}]
    plain, proved = (dipapprox.compose(runs, options=Options(proved=own)) for own in (False, True))
    found, least = (each.epsilon("1e-5", "1/20").eps_prv_enclosure for each in (plain, proved))
    assert 0 < found.lower - least.lower <= found.upper - found.lower
    assert 0 < least.upper - found.upper <= found.upper - found.lower
    kept, broken = (proved.verify(end, "1e-5") for end in (least.upper, least.lower))
    assert (kept.answer, broken.answer) == (Answer.DP, Answer.NOT_DP)
    assert kept.replayed.steps == len(kept.proofs[0].steps)
    delta = proved.delta(1).delta_enclosure
    assert 0 < delta.lower < delta.upper < 1
    refuses(UserError, "claim", proved.curve, 0, 1, 3)


def test_proofs_of_few_outcomes_are_as_narrow_as_their_exact_profiles() -> None:
    """Losses of randomised response are multiples of a logarithm, on no grid of a proof."""
    run = {"mechanism": "randomised_response", "probability": "3/4", "times": 5}
    proved = dipapprox.compose([run], options=Options(proved=True))
    assert proved.verify("5.4", "1e-5").answer is Answer.NOT_DP
    assert proved.verify("5.494", "1e-7").answer is Answer.DP
    for answer in (proved.epsilon("1e-3"), proved.epsilon("1/10")):
        assert answer.eps_prv_enclosure.width < Fraction(1, 10**6)
    assert proved.delta("1/3").delta_enclosure.width < Fraction(1, 10**6)
    # A lattice with a rational step is none of short ones.
    laplace = {"mechanism": "laplace", "scale": "7/3", "times": 5}
    proved = dipapprox.compose([laplace], options=Options(proved=True))
    assert proved.epsilon("1e-5").eps_prv_enclosure.width < Fraction(1, 1000)


def test_what_the_kernel_does_not_confirm_is_unknown() -> None:
    """The kernel follows choices of one program's pairs; of another it has what is above all."""
    runs = []
    for name, times in [("svt_gauss", 10), ("noisy_max_gauss", 5)]:
        path = Path(__file__).parents[2] / "programs" / f"{name}.dpg"
        program = dipapprox.parse(path.read_text(encoding="utf-8"))
        runs.append({"program": program, "eps": "1/2", "times": times})
    claim = "2.3645", "1e-6"
    assert dipapprox.compose(runs).verify(*claim).answer is Answer.DP
    found = dipapprox.compose(runs, options=Options(proved=True)).verify(*claim)
    assert found.answer is Answer.UNKNOWN
    assert found.reason.startswith("found DP, but the kernel has no proof: ")
    assert found.replayed is None


# --- Proofs about pipelines in files --------------------------------------------------------------

PROGRAM = Path(__file__).parents[2] / "programs" / "svt_gauss.dpg"
Json = Any


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Json:
    """A file about a program and a mechanism."""
    tmp_path = tmp_path_factory.mktemp("pipeline")
    text = f"""
    [[run]]
    program = "{PROGRAM}"
    eps = "1/2"
    params = {{ N = 2 }}
    times = 3
    [[run]]
    mechanism = "laplace"
    scale = 4
    subsample = "1/5"
    times = 5
    """
    spec = tmp_path / "pipeline.toml"
    spec.write_text(text, encoding="utf-8")
    composed = dipapprox.compose(spec, options=Options(proved=True))
    certificate = composed.certify(composed.verify("1/4", "27/1000"))
    return json.loads(certificate.to_json())


@pytest.fixture
def content(once: Json) -> Json:
    """It, to be changed."""
    return deepcopy(once)


def checked(content: Json) -> Replay:
    """What `check` says of a file with this content, signed again."""
    fields = {key: value for key, value in content.items() if key != "digest"}
    found = dipapprox.check({**fields, "digest": digest(fields)})
    assert isinstance(found, Replay)
    return found


def test_a_proof_is_written_and_confirmed(content) -> None:
    found = dipapprox.check(json.dumps(content))
    assert found.outcome is Outcome.CONFIRMED
    assert found.elaborated
    assert found.verdict == "DP"
    assert found.concluded == (
        "whatever the pipeline runs, it is (1/4, 27/1000)-differentially private",
    )
    assert len(found.steps) == len(content["proofs"][0]["steps"])
    changed = dipapprox.check({**content, "verdict": "DP", "computed": {}})
    assert changed.outcome.value == "refuted"


def _claimed(content: Json, name: str, value: str) -> None:
    (proof,) = content["proofs"]
    proof["claim"][name] = value
    proof["steps"][-1][name] = value


FALSE: dict[str, Callable[[Json], None]] = {
    "a smaller budget": lambda c: _claimed(c, "eps_prv", "1/100"),
    "a smaller delta": lambda c: _claimed(c, "delta", "1/1000000"),
    "more runs": lambda c: c["pipeline"]["runs"][0].update(times=4),
    "less noise": lambda c: c["pipeline"]["runs"][1]["what"].update(scale=2),
    "no sample": lambda c: c["pipeline"]["runs"][1].update(subsample=None),
    "another eps": lambda c: c["pipeline"]["runs"][0]["what"].update(eps=1),
    "another text": lambda c: c["programs"][0]["program"].update(text="input q in {0, 1}"),
    "other parameters": lambda c: c["programs"][0].update(
        params={"N": "3", "T": "0", "Delta": "1"}
    ),
    "a step less": lambda c: c["proofs"][0]["steps"].pop(-2),
}


@pytest.mark.parametrize("why", FALSE)
def test_what_was_changed_is_not_confirmed(why, content) -> None:
    """Though it was signed again."""
    FALSE[why](content)
    try:
        found = checked(content)
    except UserError:
        return
    assert found.outcome is Outcome.REFUTED


MALFORMED: dict[str, Callable[[Json], None]] = {
    "another version": lambda c: c.update(version=2),
    "a field more": lambda c: c.update(more=1),
    "a machine without a program": lambda c: c.update(programs=[None, None]),
    "no proof": lambda c: c.update(proofs=[]),
    "another verdict": lambda c: c.update(verdict="Not_DP"),
    "a field of a run more": lambda c: c["pipeline"]["runs"][0].update(more=1),
    "an unknown mechanism": lambda c: c["pipeline"]["runs"][1]["what"].update(mechanism="magic"),
}


@pytest.mark.parametrize("why", MALFORMED)
def test_what_is_no_proof_is_bad_input(why, content) -> None:
    MALFORMED[why](content)
    refuses(UserError, "malformed", checked, content)


# --- Programs many times: between pairs, with published numbers, against closed forms -------------

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
    assert found.worst and len(found.chosen) == len(found.worst)


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


def test_what_is_lost_is_no_infinite_loss() -> None:
    """P lies on a tenth of Q: 1 - x/10 up to x = 10, beyond all places that are known."""
    known = [(F(1), F(9, 10), F(9, 10)), (F(2), F(4, 5), F(4, 5))]
    masses = inner_hull(known, lost=F(9, 10))
    assert [height(masses, x) for x in (1, 5, 10, 20)] == pytest.approx([0.9, 0.5, 0, 0])


TWO = "input q in 0..2\noutput {outputs} in real\nadjacent linf 1\n{laws}\n"


def every(program: dipapprox.Program) -> Setting:
    return Setting(program, AllPairs(), Options())


@cases(
    "outputs, laws, mechanisms",
    ("y", "y <- Gauss(q * q, 2)", [Gaussian(F(3), F(2))]),
    ("y, z", "y <- Gauss(3 * q, 1)\nz <- Gauss(-4 * q, 1)", [Gaussian(F(5), F(1))]),
    ("y, z", "y <- Lap(q * q, 2 / eps)\nz <- Gauss(0, 1)", [Laplace(F(3), F(2))]),
    ("y, z", "y <- Lap(q, 1)\nz <- Lap(q, 1)", [Laplace(F(1), F(1))] * 2),
    ("y, z", "y <- Gauss(q, 1)\nz <- Lap(q, 1)", [Gaussian(F(1), F(1)), Laplace(F(1), F(1))]),
)
def test_noise_alone_is_a_mechanism(outputs, laws, mechanisms) -> None:
    """Of the catalogue: the same composition, with the worst of several pairs."""
    program = dipapprox.parse(TWO.format(outputs=outputs, laws=laws))
    found = worst_noise(every(program), F(1), Adjacency.ADD_REMOVE)
    assert len(found) == len(mechanisms)
    runs = [tuple(RepeatedRun(own, 4) for own in each) for each in (found, mechanisms)]
    both = [Composition(own).epsilon(F(1, 1000), F(1, 10**4)).bounds[0] for own in runs]
    assert all(each.is_within(F(1, 10**4)) for each in both)
    (low, high), (other_low, other_high) = ((b.lower, b.upper) for b in both)
    assert low <= other_high and other_low <= high


@cases(
    "laws",
    "y <- Lap(4 * q - q * q, 1)\nz <- Gauss(q * q, 1)",
    "y <- Logistic(q, 1)\nz <- Lap(q, 1)",
    "x <- Gauss(q, 1)\ny <- x + q\nz <- x - q",
    "if q = 0 then\n  y <- Gauss(0, 1)\nelse\n  y <- Gauss(0, 2)\nend\nz <- Gauss(q, 1)",
)
def test_other_programs_have_no_such_pair(laws) -> None:
    program = dipapprox.parse(TWO.format(outputs="y, z", laws=laws))
    assert not worst_noise(every(program), F(1), Adjacency.ADD_REMOVE)


def test_searches_of_hulls_end(monkeypatch) -> None:
    """Hulls stay apart between their places, and no grid brings them together."""
    monkeypatch.setattr(real_programs, "_MOST_PLACES", 12)
    laws = "z <- Gauss(q, 2)\nx <- Lap(q, 2)\ny <- x + z"
    program = dipapprox.parse(NOISE.format(law="0").replace("y <- 0", laws))
    found = RefinedPairs(every(program), F(1), Adjacency.ADD_REMOVE, F(1, 10**6)).between()
    runs = (RepeatedRun(found, 3),)
    with limited(Limits(atoms=10**6)):
        answer = Composition(runs).epsilon(F(1, 100), F(1, 10**5))
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
        assert found.exact and not found.worst and not found.chosen
        gaps = []
        for above, below in [(found.above.masses, found.below.masses)]:
            for k in range(1, 60):
                alpha = k / 20
                low, high = height(below, alpha), height(above, alpha)
                assert low - 1e-12 <= profile(0.5, log(alpha)) <= high + 1e-12
                gaps.append(high - low)
        widest.append(max(gaps))
        assert pairs.refine()
    assert widest[1] < widest[0] / 2 < 0.02


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


def test_answers_say_whether_the_order_of_runs_matters() -> None:
    """Where pairs of different programs may be chosen, and nowhere else."""

    def ranges(eps: str, **others: object) -> dict[str, object]:
        return {"mechanism": "exponential_mechanism", "eps": eps, **others}

    def program(tail: str) -> dict[str, object]:
        parsed = dipapprox.parse(f"input q in 0..2\noutput out in 0..2\nadjacent linf 1\n{tail}")
        return {"program": parsed, "eps": 1}

    several = program(
        "out <- 0\nr <- Lap(q, 1)\ns <- Lap(2 * q * q, 2)\n"
        "if r >= 1 then\n out <- 1\nelif s > 3 then\n out <- 2\nend\n"
    )
    other = program("r <- Lap(q, 1)\nout <- 0\nif r >= 1 then\n out <- 1\nend\n")
    noise: dict[str, object] = {"mechanism": "laplace", "scale": 3}
    statement: dict[str, object] = {"mechanism": "zcdp", "rho": "1/100"}
    for runs, order in (
        ([several, other], "as listed"),
        ([ranges("1/2"), noise, ranges("1/3")], "any"),
        ([ranges("1/2"), ranges("1/2", subsample="1/3")], "any"),
        ([several, ranges("1/2", times=2)], "any"),
        ([ranges("1/2"), noise, ranges("1/2", times=2)], "any"),
        ([several, noise], "any"),
        ([statement, ranges("1/2")], "any"),
    ):
        answer = dipapprox.compose(runs).delta("1/10", "0.01")
        assert answer.to_dict()["order"] == order
        told = "programs in that of the list, all else in any"
        assert (told in " ".join(str(answer).split())) is (order == "as listed")


def told(run: dict[str, object], delta: str) -> Extended:
    answer = dipapprox.compose([run]).epsilon(delta)
    assert answer.reason is None and answer.eps_prv_enclosure is not None
    return answer.eps_prv_enclosure


@pytest.mark.thorough
def test_clamping_costs_what_noise_does() -> None:
    """Beyond both inputs the quotient of densities is one number, which is published, too."""
    program = dipapprox.parse(text_of("numbers/clamped_laplace"))
    own = told({"program": program, "eps": "1.7", "times": 3}, "0.001")
    noise = told({"mechanism": "laplace", "scale": "10/17", "times": 3}, "0.001")
    assert own.lower <= noise.upper and noise.lower <= own.upper
    assert own.upper - own.lower <= F(1, 1000)


def test_what_one_input_alone_can_give_is_infinitely_dear() -> None:
    """A bin is published that holds one, so far above it, of ten: only where there is one."""
    program = dipapprox.parse(text_of("numbers/stability_histogram"))
    run = {"program": program, "eps": "0.56", "times": 10}
    least = 1 - (1 - exp(-0.56 * 9) / 2) ** 10
    assert told(run, str(least * 0.999)).infinite
    assert told(run, str(least * 1.001)).upper is not None


@pytest.mark.thorough
def test_one_run_is_as_its_profile_says() -> None:
    program = dipapprox.parse(text_of("numbers/noisy_max_with_value"))
    composed = dipapprox.compose([{"program": program, "eps": "1.4"}])
    known = dipapprox.profile(program, eps="1.4", eps_prv=1).delta_enclosure
    assert (
        composed.delta(1).delta_enclosure.intersect(known, "", "", "δ").width <= known.upper / 1000
    )
    assert composed.verify(1, known.upper * F(1000001, 1000000)).answer is Answer.DP
    assert composed.verify(1, known.lower * F(999999, 1000000)).answer is Answer.NOT_DP


def test_outputs_that_hardly_come_are_not_merged_with_others() -> None:
    """One run has three losses, but for next to nothing; of three runs nothing is lost."""
    program = dipapprox.parse(text_of("top_k_gauss"))
    low = told({"program": program, "eps": "1.2"}, "0.3")
    assert low.lower == 0
    three = told({"program": program, "eps": "1.2", "times": 3}, "0.0993")
    p = (0.25341905867899, 0.32516591121069, 0.42141503010633)  # of losses -t, 0, t
    t = log(p[2] / p[0])
    eps = float(three.upper)
    delta = sum(
        a * b * c * max(0, 1 - exp(eps - (i + j + k - 3) * t))
        for i, a in enumerate(p)
        for j, b in enumerate(p)
        for k, c in enumerate(p)
    )
    assert delta == pytest.approx(0.0993, abs=1e-8) and three.upper - three.lower < F(1, 10**6)


def test_numbers_that_inputs_do_not_change_cost_nothing() -> None:
    program = "input q in 0..1\noutput y in real\nadjacent all\ny <- Gauss(0, 1 / eps)\n"
    run = {"program": dipapprox.parse(program), "eps": 1, "times": 2}
    assert dipapprox.compose([run]).epsilon("1e-5").eps_prv_enclosure.upper <= Fraction(1, 10**7)


@pytest.mark.parametrize(
    ("runs", "least"),
    [
        ([("approx_dp", {"eps": "2", "delta": "1e-9"})], "2"),
        pytest.param(
            *([("approx_dp", {"eps": "2", "delta": "1e-9"}), ("laplace", {"scale": "5"})], "11/5"),
            marks=pytest.mark.thorough,
        ),
        ([("approx_dp", {"eps": "1", "delta": "1/2"}), ("approx_dp", {"eps": "1"})], "2"),
    ],
)
def test_what_statements_tell_with_their_own_delta_is_exact(
    runs: list[tuple[str, dict[str, str]]], least: str
) -> None:
    composed = dipapprox.compose([{"mechanism": name, **about} for name, about in runs])
    delta = runs[0][1]["delta"]
    found = composed.epsilon(delta)
    assert found.reason is None
    assert found.eps_prv_enclosure.enclosure() == Enclosure.exact(F(least))
    assert composed.verify(least, delta).answer is Answer.DP
    assert composed.verify(F(least) - F(1, 10**6), delta).answer is Answer.NOT_DP
    exact = composed.delta(least).delta_enclosure
    assert exact.lower == exact.upper == F(delta)
    assert composed.epsilon(0).eps_prv_enclosure.infinite


def test_greatest_losses_of_samples_are_finite_however_large() -> None:
    composed = dipapprox.compose([{"mechanism": "laplace", "scale": "1e-60", "subsample": "1/2"}])
    found = composed.epsilon(0).eps_prv_enclosure
    assert not found.infinite and abs(found.upper - 10**60) < 10**30
    assert composed.verify("1e61", 0).answer is Answer.DP


@pytest.mark.parametrize(
    "beside",
    [
        {"mechanism": "randomised_response", "probability": "3/4", "times": 3},
        {"mechanism": "approx_dp", "eps": "1/2", "delta": "1/1000"},
        {"mechanism": "discrete_laplace", "scale": 1},
    ],
    ids=lambda run: run["mechanism"],
)
def test_grids_get_finer_where_bounded_ranges_are_beside_a_lattice(beside) -> None:
    runs = [{"mechanism": "exponential_mechanism", "eps": 1, "times": 2}, beside]
    answer = dipapprox.compose(runs, adjacency="substitution").epsilon("1/100", "1/1000")
    assert answer.reason is None and answer.eps_prv_enclosure.width <= Fraction(1, 1000)
