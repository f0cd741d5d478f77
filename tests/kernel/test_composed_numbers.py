"""Runs of machines that publish real numbers: against sums over the losses of one by quadrature."""

from collections.abc import Callable
from fractions import Fraction
from math import exp, sqrt
from typing import Any

import pytest
from scipy.integrate import quad
from scipy.stats import laplace, norm

import dipapprox
from dipapprox import Answer, Options, parse
from dipapprox.kernel.compositions import read_pipeline
from dipapprox.kernel.errors import NotProved
from dipapprox.kernel.machine import Machine
from dipapprox.kernel.replay import replay
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import number_json
from kernel.machines import judged
from kernel.small import CLAMPED, program_of
from tests.cases import check_answers, part, refuses, text_of

PLAIN = "input q in 0..1\noutput y in real\nadjacent linf 1\ny <- Lap(q, 1 / eps)"
COIN = "\nc <- choose { 0 : 1/2, 1 : 1/2 }"
ONE = PLAIN.replace("real\n", "real\noutput c in {0, 1}\n") + COIN  # no mechanism, but as private
TWO = text_of("kernel/composed_numbers-two")
GAUSS = ONE.replace("Lap", "3 - 2 * Gauss")


def of_laplace(eps_prv: float) -> float:
    """Of laws about 1 and 0: 1 - e^((t - 1) / 2) between -1 and 1."""
    if abs(eps_prv) < 1:
        return 1 - exp((eps_prv - 1) / 2)
    return max(0.0, 1 - exp(eps_prv))


def twice(eps_prv: float) -> float:
    """Of two such runs: what the second adds to the loss of the first, |x| - |x - 1|."""

    def after(x: float) -> float:
        return float(laplace.pdf(x - 1)) * of_laplace(eps_prv - abs(x) + abs(x - 1))

    return float(sum(quad(after, *ends, epsabs=1e-13)[0] for ends in ((-40, 0), (0, 1), (1, 40))))


def gauss(eps_prv: float, shift: float) -> float:
    """Of a shift by so many deviations."""
    here = shift / 2 - eps_prv / shift
    return float(norm.cdf(here) - exp(eps_prv) * norm.cdf(here - shift))


def told(text: str, times: int, steps: list[Any], kept: bool, delta: float) -> object:
    """Replay steps to losses of a run as a claim about so many, at eps_prv = 1/2."""
    run = {"what": {"machine": machine_json(program_of(text)), "eps": 1}, "subsample": None}
    claim = {"eps_prv": "1/2", "delta": number_json(Fraction(delta))}
    last: dict[str, Any] = {"rule": "private composition", "parts": None, "eps": None, **claim}
    if not kept:
        last |= {"rule": "violated composition", "input": None, "adjacent": None}
    first = len(steps) - 1
    powers = [
        {"rule": "composed", "from": [first + k, first], "cut": [0, 0]} for k in range(times - 1)
    ]
    return replay(
        {"adjacency": "add/remove", "runs": [{**run, "times": times}]},
        {"verdict": "DP" if kept else "Not_DP", **claim},
        [*steps, *powers, {**last, "from": [first + times - 1]}],
    )


GRID: dict[str, Any] = {"step": "1/8", "offset": 0, "places": 40, "knots": [[-40, 40, 1]]}


def above(delta: Callable[[float], float], far: int) -> list[Any]:
    """Bounds of one run at eighths, and losses above it."""
    named = {"of": {"run": 0}, "from": []}
    steps: list[Any] = [
        {
            "rule": "every published pair",
            **named,
            "eps": 1,
            "eps_prv": number_json(Fraction(k, 8)),
            "bits": 24,
            "delta": number_json(Fraction(delta(k / 8) + (1e-6 if delta(k / 8) else 0))),
        }
        for k in range(far + 1)
    ]
    fields = {**named, **GRID, "sample": None, "orders": [], "input": None, "adjacent": None}
    return [*steps, {"rule": "losses", **fields, "from": [*range(len(steps))], "above": True}]


def below(first: int, second: int) -> list[Any]:
    """Losses below one run."""
    fields = {"of": {"run": 0}, "from": [], "sample": None, "orders": [1], "above": False}
    return [{"rule": "losses", **GRID, **fields, "input": [first], "adjacent": [second]}]


CASES: dict[str, tuple[str, int, Callable[[float], float], tuple[int, int]]] = {
    "one": (ONE, 2, twice, (0, 1)),
    "two numbers": (TWO, 1, twice, (0, 1)),
    "points and numbers": (CLAMPED, 2, twice, (1, 2)),
    "gauss": (GAUSS, 3, lambda eps_prv: gauss(eps_prv, sqrt(3)), (0, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_losses_of_a_pair_are_below_what_its_numbers_tell(name) -> None:
    text, times, truth, pair = CASES[name]
    assert told(text, times, below(*pair), False, truth(0.5) - 3e-3)
    refuses(NotProved, None, told, text, times, below(*pair), False, truth(0.5))


@pytest.mark.parametrize("name", part(["gauss", "one", "points and numbers"], 2))
def test_losses_are_above_what_numbers_of_all_pairs_tell(name) -> None:
    text, times, truth, _ = CASES[name]
    once, far = (of_laplace, 8) if times == 2 else (lambda t: gauss(t, 1), 40)
    assert told(text, times, above(once, far), True, truth(0.5) + 3e-3)
    refuses(NotProved, None, told, text, times, above(once, far), True, truth(0.5))


def changed(**change: Any) -> bool:
    """Whether losses of one run are below it where a step is changed."""
    (step,) = below(0, 1)
    return bool(told(ONE, 1, [{**step, **change}], False, of_laplace(0.5) - 1e-2))


def test_losses_of_numbers_are_of_what_is_run() -> None:
    check_answers("kernel_composed_numbers", judged(globals()))


def test_mixtures_want_masses_from_both_sides() -> None:
    """On a sample of a tenth no set is a tenth likelier, however masses far away are rounded."""
    grid = {**GRID, "step": "1/4", "places": 8, "knots": [[-200, 200, 1]], "sample": ["1/10", True]}

    def sampled(text: str, delta: str) -> object:
        run = {"what": {"machine": machine_json(program_of(text)), "eps": 1}, "subsample": "1/10"}
        claim = {"eps_prv": 0, "delta": delta}
        last = {"rule": "violated composition", "parts": None, "eps": None, **claim, "from": [0]}
        return replay(
            {"adjacency": "add/remove", "runs": [{**run, "times": 1}]},
            {"verdict": "Not_DP", **claim},
            [{**below(0, 1)[0], **grid}, {**last, "input": None, "adjacent": None}],
        )

    far = ONE.replace("Lap(q", "Lap(51 / 2 * q")
    assert sampled(far, "9/100")
    for text, delta in ((far, "11/100"), (TWO, "1/1000")):
        refuses(NotProved, None, sampled, text, delta)


def test_answers_about_numbers_have_proofs() -> None:
    runs: list[Any] = [{"program": parse(ONE), "eps": 1, "times": 2}]
    found = dipapprox.compose(runs, options=Options(proved=True)).delta("1/2")
    assert len(found.proofs) == 2
    low, high = map(float, (found.delta_enclosure.lower, found.delta_enclosure.upper))
    assert low <= twice(0.5) <= high
    assert high - low < 1e-4


SEVERAL = "input q[2] in 0..1\noutput y[2] in real\nadjacent linf 1\n"
ONE_OF_TWO = SEVERAL.replace("linf", "l1")
NOISE: dict[str, tuple[str, object]] = {
    "one number": (PLAIN, ("Lap", (1, 1))),
    "scaled": (PLAIN.replace("Lap(q", "3 - 2 * Lap(5 * q"), ("Lap", (1, Fraction(1, 5)))),
    "gauss": (
        SEVERAL + "y[1] <- Gauss(2 * q[1], 3)\ny[2] <- 2 * Gauss(q[2] + q[1], 1 / eps)",
        ("Gauss", (1, 1 / (Fraction(4, 9) + 4))),
    ),
    "real input": (PLAIN.replace("in 0..1", "in real 0..3"), ("Lap", (1, 1))),
    "beside other noise": (SEVERAL + "y[1] <- Lap(q[1], 1)\ny[2] <- Lap(0, 1)", ("Lap", (1, 1))),
    "two laplace": (SEVERAL + "y[1] <- Lap(q[1], 1)\ny[2] <- Lap(q[2], 1)", None),
    "both": (SEVERAL + "y[1] <- Lap(q[1], 1)\ny[2] <- Gauss(q[2], 1)", None),
    "a coin": (ONE, None),
    "a label": (PLAIN + "\nif y > 0 then y <- 0 end", None),
    "scales differ": (PLAIN + "\nif q = 1 then y <- Lap(2, 3) end", None),
    "told apart": (PLAIN.replace("y <- Lap(q, 1 / eps)", "y <- q"), None),
    "nothing told": (PLAIN.replace("Lap(q", "Lap(0"), None),
    "another law": (PLAIN.replace("Lap", "Logistic"), None),
    "told beside noise": (SEVERAL + "y[1] <- q[1]\ny[2] <- Gauss(q[2], 1)", None),
    "sums or none": (
        SEVERAL + "y[1] <- Gauss(q[1], 1)\ny[2] <- Gauss(0, 1)\n"
        "if q[1] = 1 then y[2] <- y[2] + y[1] end",
        None,
    ),
    "one or the other": (ONE_OF_TWO + "y[1] <- Lap(q[1], 1)\ny[2] <- Gauss(q[2], 1)", None),
    "no pair of corners": (
        ONE_OF_TWO.replace("0..1\n", "real 0..1/2\n").replace("l1 1", "l1 3/4")
        + "y[1] <- Gauss(q[1], 1)\ny[2] <- Gauss(q[2], 1)",
        None,
    ),
}


@pytest.mark.parametrize("name", NOISE)
def test_machines_that_publish_noise_and_nothing_else_are_mechanisms(name) -> None:
    text, wanted = NOISE[name]
    what = machine_json(program_of(text))
    run = {"what": {"machine": what, "eps": 1}, "subsample": "1/2", "times": 2}
    ((change, times),) = read_pipeline({"adjacency": "add/remove", "runs": [run]}).runs
    found = None if isinstance(change.what, Machine) else (change.what.name, change.what.values)
    assert found == wanted and times == 2


def test_proofs_about_noise_keep_the_digits() -> None:
    runs: list[Any] = [{"program": parse(NOISE["gauss"][0]), "eps": 1, "times": 3}]
    found = dipapprox.compose(runs, options=Options(proved=True)).delta("1/2")
    bounds, true = found.delta_enclosure, gauss(0.5, sqrt(3 * (4 / 9 + 4)))
    assert bounds.width < 1e-11 and abs(float(bounds.upper) - true) < 1e-9


HIDDEN = """
input q in 0..1
output y in real
output z in real
adjacent linf 1
c <- choose { q : 1/2, 1 - q : 1/2 }
y <- Lap(3 * c, 1)
z <- Lap(3 * c, 1)
"""


def test_numbers_that_a_hidden_coin_moves_together_are_no_one_product() -> None:
    """Both inputs have the same law, however its terms are paired."""
    for pair in ((0, 1), (1, 0)):
        refuses(NotProved, "not larger", told, HIDDEN, 1, below(*pair), False, 1e-6)


@pytest.mark.thorough
def test_bounds_of_a_hidden_coin_hold_where_they_are_replayed_alone() -> None:
    """A bound may be a hair larger on panels of its own: nothing was proved from above."""
    text = PLAIN.replace("y <-", "c <- choose {0 : 1/4, 1 : 3/4}\ny <-").replace(
        "Lap(q", "Lap(q + c"
    )
    runs = [{"program": parse(text), "eps": 1, "times": 2}]
    composed = dipapprox.compose(runs, options=Options(proved=True))
    assert composed.verify(Fraction(1, 2), Fraction(1, 3)).answer is Answer.DP
