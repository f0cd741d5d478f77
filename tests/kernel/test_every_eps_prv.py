"""Claims that are broken at every eps_prv: what is impossible for one input, and normal noise."""

from pathlib import Path
from typing import Any

import pytest

import dipapprox
from dipapprox import Options, parse
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.replay import replay
from dipapprox.privacy.run import Setting
from dipapprox.proof_steps import ends, verdicts
from dipapprox.proof_steps.verdicts import Goal
from kernel.machines import RUN, Json, finite
from kernel.test_published import violation_of
from tests.cases import refuses


def said(delta: Json, eps_prv: Json = None) -> Json:
    return {"eps_prv": eps_prv, "delta": delta}


def leaked(delta: Json, other: Json = 0, claimed: Json = None, **changed: Json) -> object:
    """Output 1 has a probability of 1/4 for input 1, and another one for input 0."""
    rows = ("if", ["=", ["cell", "q"], 0], *([coin(p)] for p in (other, "1/4")))
    machine = finite([list(rows)], inputs=[["q", [0, 1]]])
    step = {"rule": "violation", "from": [0], "input": [1], "adjacent": [0], "outputs": [[1]]}
    claim = {"verdict": "Not_DP", "eps": 1, "pairs": None, **said(delta, claimed)}
    return replay(machine, claim, [RUN, {**step, **said(delta), **changed}])


def coin(p: Json) -> Json:
    return ["choose", ["cell", "o"], [[1, p], [0, ["+", 1, ["*", -1, p]]]], False]


def test_what_one_input_never_shows() -> None:
    assert leaked("1/5")
    refuses(NotProved, "is not above delta", leaked, "1/4")
    refuses(NotProved, "is not above delta", leaked, 0, other="1/1000000000")
    refuses(NotProved, "is not above delta", leaked, 0, outputs=[])


def test_it_shows_claims_at_each_eps_prv_and_none_of_more() -> None:
    assert leaked("1/5", claimed=10**6)
    assert leaked("1/5", claimed=3)
    refuses(NotProved, "does not conclude", leaked, "1/5", eps_prv=900)


def test_closed_forms_and_intervals_have_no_such_claims() -> None:
    machine = finite([coin("1/4")], inputs=[["q", [0, 1]]])
    closed = {**RUN, "bits": None}
    step = {"rule": "violation", "from": [0], "input": [1], "adjacent": [0], "outputs": [[1]]}
    claim = {"verdict": "Not_DP", "eps": 1, "pairs": None, **said(0)}
    refuses(NotProved, "every eps_prv", replay, machine, claim, [closed, {**step, **said(0)}])
    for rule in ({"rule": "every pair", "from": [0]}, {"rule": "served", "from": [], "eps": 1}):
        every = {**rule, **said(0), **({} if "eps" not in rule else {"whole": True, "nodes": []})}
        refuses(NotProved, None, replay, machine, {**claim, "verdict": "DP"}, [RUN, every])


PUBLISHED = "input q in 0..1\noutput y in real\nadjacent linf 1\n"
GAUSS = PUBLISHED + "y <- Gauss(q, 1 / eps)"
BESIDE = GAUSS.replace("y in real", "y in real\noutput z in real") + "\nz <- Lap(q, 1 / eps)"
CUT = GAUSS + "\nif y < 0 then\n    y <- 0\nend\nif y > 2 then\n    y <- 2\nend"
FOUND: dict[str, tuple[str, bool]] = {
    "normal noise": (GAUSS, True),
    "beside other noise": (BESIDE, True),
    "noise that is not normal": (GAUSS.replace("Gauss", "Lap"), False),
    "the same mean": (GAUSS.replace("(q", "(0"), False),
    "noise that is cut off": (CUT, False),
}


def published(text: str, delta: Json, eps_prv: Json = None) -> object:
    machine, claim, (step,) = violation_of(text, delta)
    return replay(machine, claim | said(delta, eps_prv), [step | said(delta) | {"bits": 8}])


@pytest.mark.parametrize("name", FOUND)
def test_published_numbers(name) -> None:
    text, is_broken = FOUND[name]
    if is_broken:
        assert published(text, 0)
        assert published(text, 0, 10**4)
    else:
        refuses(NotProved, "is not larger", published, text, 0)
    # At some eps_prv less than that is left.
    refuses(NotProved, "is not larger", published, text, "1/1000000")


GRID = {"step": 1, "offset": 0, "places": 64, "knots": [[-1, 1, 2]], "orders": [], "above": False}
NOISE: Json = {"mechanism": "Gauss", "sensitivity": 1, "variance": 25}
WHOLE: Json = {"mechanism": "DGauss", "sensitivity": 1, "variance": 25}
LEAK: Json = {"mechanism": "approx_dp", "eps": 1, "delta": "1/100"}
OTHER: Json = {"mechanism": "Lap", "sensitivity": 1, "scale": 5}
SURE: Json = {"mechanism": "approx_dp", "eps": 1, "delta": 0}


def composed(what: Json, delta: Json, sample: Json = None, **more: Any) -> object:
    """One of three runs is looked at."""
    rate = None if sample is None else sample[0]
    runs = [{"what": each, "subsample": rate, "times": 1} for each in (OTHER, what, OTHER)]
    given = {"adjacency": "add/remove", "runs": runs}
    place = 2 if what is NOISE and sample is None else 1  # normal noise of all data comes last
    steps: list[Json] = [
        {"rule": "losses", "from": [], "of": {"run": place}, "sample": sample, **GRID}
        | {"input": None, "adjacent": None},
        {"rule": "violated composition", "from": [0], "parts": None, "eps": None, **said(delta)}
        | {"input": None, "adjacent": None},
    ]
    return replay(given, {"verdict": "Not_DP", **said(delta), **more}, steps)


def test_pipelines() -> None:
    for what in (NOISE, WHOLE):
        assert composed(what, 0)
        assert composed(what, 0, ["1/10", False])
        refuses(NotProved, "is not larger", composed, what, "1/1000000")
    # Added records are a share of what is seen: no loss is above ln 10/9 then.
    refuses(NotProved, "is not larger", composed, NOISE, 0, ["1/10", True])
    assert composed(LEAK, "1/200")
    assert composed(LEAK, "1/2000", ["1/10", False], eps_prv=7)
    refuses(NotProved, "is not larger", composed, LEAK, "1/100")
    for what in (OTHER, SURE):
        refuses(NotProved, "is not larger", composed, what, 0)
    refuses(NotProved, None, composed, LEAK, "1/200", verdict="DP")


ANSWERS = {
    "a finite set": ("dipc/svt5", True),
    "normal noise": ("numbers/gaussian_mechanism", True),
    "other noise": ("numbers/histogram_laplace", False),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_without_end_are_proved(name) -> None:
    path, is_endless = ANSWERS[name]
    program = parse(Path(f"programs/{path}.dpg").read_text(encoding="utf-8"))
    found = dipapprox.profile(program, eps=1, delta=0, options=Options(proved=True))
    assert found.eps_prv_enclosure.infinite is is_endless
    assert found.replayed is not None and found.reason is None


def test_endless_pipelines_are_proved() -> None:
    runs: list[dict[str, object]] = [{"mechanism": "laplace", "scale": 5, "times": 3}]
    for run, delta in (({"mechanism": "gaussian", "sigma": 5}, 0), (LEAK, "1/200")):
        found = dipapprox.compose([*runs, run], options=Options(proved=True)).epsilon(delta)
        assert found.eps_prv_enclosure is not None and found.eps_prv_enclosure.infinite
        assert found.reason is None and found.proofs[-1].claim["eps_prv"] is None


def test_where_there_is_no_proof_of_it_some_end_is_proved() -> None:
    held = parse(GAUSS.replace("Gauss(q, 1 / eps)", "max(Gauss(q, 1 / eps), 0)"))
    found = dipapprox.profile(held, eps=1, delta=0, options=Options(proved=True))
    assert found.eps_prv_enclosure.lower == 4 and "it confirms that 4" in found.reason


def test_at_delta_0_upper_ends_are_proved_first(monkeypatch) -> None:
    """Prices tell them at once; a lower end of several numbers may take all the time there is."""
    asked = []

    def replayed(setting: Setting, goal: Goal) -> object:
        asked.append(goal.witness is None)
        return verdicts.replayed(setting, goal)

    monkeypatch.setattr(ends, "replayed", replayed)
    program = parse(PUBLISHED + "y <- Lap(q, 1 / eps)")
    found = dipapprox.profile(program, eps=1, delta=0, options=Options(proved=True))
    assert found.eps_prv_enclosure.upper == 1 and asked == [True, False]
