"""Pipelines: answers, claims, exports, proofs in files, and what is refused."""

import json
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from math import exp, sqrt
from pathlib import Path
from typing import Any

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from scipy import optimize

import dipapprox
from dipapprox import Answer, Composed, Enclosure, Limits, Options, Outcome, Replay, UserError
from dipapprox.composition.mechanisms import Adjacency, Atoms, Between
from dipapprox.privacy.compositions.pipeline import Pipeline, PipelineRun
from dipapprox.questions.pipelines import CATALOGUE
from dipapprox.replays.result import digest
from tests.cases import cases, refuses
from tests.moved_noise import gaussian

F = Fraction
SAMPLED = {"mechanism": "gaussian", "sigma": 1, "subsample": "0.01", "times": 200}
RESPONSE = {"mechanism": "randomised_response", "probability": "3/4", "times": 7}


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
    composed = dipapprox.compose([{"mechanism": "laplace", "scale": 6, "times": 10}])
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
    for sample in ({}, {"subsample": "1/10"}):
        run = {"mechanism": name, **table, **sample, "times": 5}
        answer = dipapprox.compose([run], adjacency="add/remove").epsilon("1e-4", "0.05")
        found = answer.eps_prv_enclosure
        assert 0 <= found.lower <= found.upper < 5
        fields = answer.to_dict()
        assert fields["runs"][0]["name"] == name and answer.describe().headline


@cases(
    "run, message",
        ({"mechanism": "gauss", "sigma": 1}, "run 1: unknown mechanism 'gauss'"),
        ({"mechanism": "gaussian"}, "run 1: 'sigma' of gaussian is missing"),
        ({"mechanism": "gaussian", "sigma": 0}, "run 1: sigma must be > 0, got 0"),
        ({"mechanism": "gaussian", "sigma": 0.5}, "run 1: sigma must be an exact number"),
        ({"mechanism": "gaussian", "sigma": 1, "scale": 1}, "unknown key 'scale'"),
        ({"mechanism": "gaussian", "sigma": 1, "times": 0}, "times must be"),
        ({"mechanism": "gaussian", "sigma": 1, "subsample": 2}, "subsample must be in"),
        ({"mechanism": "rdp", "orders": [[1, 1]]}, "an order must be > 1"),
        ({"mechanism": "rdp", "orders": []}, "must name an order"),
        # It says that nothing is revealed: no noise has such a divergence, and none is infinite.
        ({"mechanism": "rdp", "orders": [[2, 0]]}, "a divergence must be > 0"),
        ({"sigma": 1}, "either a mechanism or a program"),
        ({"program": 3, "eps": 1}, "must name a file"),
        ({"program": "nowhere.dpg", "eps": 1}, "nowhere.dpg"),
)  # fmt: skip
def test_wrong_runs_are_named(run, message) -> None:
    refuses(UserError, message, dipapprox.compose, [run])


def test_adjacency_is_one_and_said() -> None:
    noise = {"mechanism": "gaussian", "sigma": 3}
    refuses(UserError, "different adjacencies", dipapprox.compose, [noise, RESPONSE])
    both = dipapprox.compose([noise, RESPONSE], adjacency="substitution")
    assert both.epsilon("0.01", "0.1").to_dict()["adjacency"] == "substitution"
    with pytest.raises(UserError, match="for add/remove adjacency"):
        dipapprox.compose([SAMPLED], adjacency="substitution")
    refuses(UserError, "needs a run", dipapprox.compose, [])
    refuses(UserError, "adjacency: unknown value", dipapprox.compose, [noise], adjacency="swap")  # type: ignore[arg-type]
    refuses(UserError, "delta must be in", dipapprox.compose([noise]).epsilon, 1)
    refuses(UserError, "eps_prv must be >= 0", dipapprox.compose([noise]).delta, "-1")


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


def test_what_the_kernel_does_not_confirm_is_unknown() -> None:
    """The kernel follows choices of one program's pairs; of another it has what is above all."""
    runs = []
    for name, times in [("svt_gauss", 10), ("noisy_max_gauss", 5)]:
        path = Path(__file__).parents[3] / "programs" / f"{name}.dpg"
        program = dipapprox.parse(path.read_text(encoding="utf-8"))
        runs.append({"program": program, "eps": "1/2", "times": times})
    claim = "2.3645", "1e-6"
    assert dipapprox.compose(runs).verify(*claim).answer is Answer.DP
    found = dipapprox.compose(runs, options=Options(proved=True)).verify(*claim)
    assert found.answer is Answer.UNKNOWN
    assert found.reason.startswith("found DP, but the kernel has no proof: ")
    assert found.replayed is None


# --- Proofs about pipelines in files --------------------------------------------------------------

PROGRAM = Path(__file__).parents[3] / "programs" / "svt_gauss.dpg"
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


@cases(
    "run, eps_prv, true",
    ({"mechanism": "laplace", "scale": 1}, "1/2", 1 - exp(-1 / 4)),
    ({"mechanism": "laplace", "scale": 1}, "2", 0.0),
    ({"mechanism": "gaussian", "sigma": 1}, "3", 0.001537185369442),
    ({"mechanism": "laplace", "scale": 1, "subsample": "1/3"}, "1/5", 0.0725166650672503),
)
def test_proofs_of_one_run_have_the_digits_of_the_answer(run, eps_prv, true) -> None:
    """Closed forms; of a sample r H((α - 1 + r) / r)."""
    composed = dipapprox.compose([run], options=Options(proved=True))
    answer = composed.delta(eps_prv)
    assert answer.proofs and answer.reason is None
    found = answer.delta_enclosure
    assert found.width <= found.upper / 10**8
    assert float(found.upper) == pytest.approx(true, rel=1e-8)


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
