"""Runs of machines of independent parts are composed: against recursions over all joint outputs."""

import random
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import log, prod
from typing import Any

import pytest

import dipapprox
from dipapprox import Options
from dipapprox.errors import NoCertificate
from dipapprox.kernel.errors import BadProof, NotProved, Refuted
from dipapprox.kernel.replay import replay
from dipapprox.privacy.compositions.pipeline import ComposedProof
from dipapprox.proof_steps import composed_runs
from dipapprox.proof_steps.compositions import ComposedGoal, PipelineProofs
from kernel.machines import RUN, finite
from kernel.pipelines import Outcomes, ball, largest
from tests.cases import part, refuses, text_of

Rows = list[list[Fraction]]
Adjacent = Callable[[tuple[int, ...], tuple[int, ...]], bool]
HALF = Fraction(1, 2)
TIMES = 2
LISTED = [[0], [1]], [[1], [0]]

NORMS: list[tuple[str, Adjacent]] = [
    ("l1 1", lambda u, v: sum(abs(a - b) for a, b in zip(u, v, strict=True)) <= 1),
    ("l0 2", lambda u, v: sum(a != b for a, b in zip(u, v, strict=True)) <= 2),
    ("all", lambda u, v: True),
]


def random_rows(seed: str) -> Rows:
    """Probabilities of three outputs for two inputs."""
    source = random.Random(seed)
    weights = [[Fraction(source.randint(1, 6)) for _ in range(3)] for _ in range(2)]
    return [[each / sum(own) for each in own] for own in weights]


def program(kinds: list[Rows], norm: str) -> dipapprox.Program:
    """A part for each kind, with an input of its own."""
    lines = [f"input q[{len(kinds)}] in {{0, 1}}", f"output out[{len(kinds)}] in 0..2"]
    lines.append(f"adjacent {norm}")
    for k, rows in enumerate(kinds, 1):
        chosen = [
            f"out[{k}] <- choose {{ {', '.join(f'{o} : {p}' for o, p in enumerate(row))} }}"
            for row in rows
        ]
        lines += [f"if q[{k}] = 0 then", chosen[0], "else", chosen[1], "end"]
    found = dipapprox.parse("\n".join(lines))
    assert isinstance(found, dipapprox.Program)
    return found


def pairs_of(kinds: list[Rows], adjacent: Adjacent) -> list[Outcomes]:
    """All joint outputs, for all adjacent pairs."""
    inputs = list(product((0, 1), repeat=len(kinds)))

    def row(input: tuple[int, ...]) -> list[Fraction]:
        own = [rows[q] for rows, q in zip(kinds, input, strict=True)]
        return [prod(each, start=Fraction(1)) for each in product(*own)]

    return [
        [(ball(p), ball(q)) for p, q in zip(row(u), row(v), strict=True)]
        for u in inputs
        for v in inputs
        if u != v and adjacent(u, v)
    ]


def proof(kinds: list[Rows], norm: str, kept: bool, eps_prv: Any, delta: Any) -> ComposedProof:
    """What is written of runs."""
    runs = [{"program": program(kinds, norm), "eps": 1, "times": TIMES}]
    goal = ComposedGoal(kept, Fraction(eps_prv), Fraction(delta), Fraction(0), None)
    found, _ = PipelineProofs(dipapprox.compose(runs).pipeline).proof(goal)
    assert any("parts" in str(step) for step in found.steps)
    assert replay(found.pipeline, found.claim, found.steps)
    return found


@pytest.fixture(autouse=True)
def in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """However few outputs there are."""
    monkeypatch.setattr(composed_runs, "MANY_OUTPUTS", 0)


@pytest.mark.parametrize(("norm", "adjacent"), NORMS, ids=[norm for norm, _ in NORMS])
def test_many_runs_of_parts_are_bounded_closely(norm, adjacent) -> None:
    """Pairs are chosen by what came before: a pair above all of them costs something."""
    kinds = [random_rows(norm), random_rows("other")]
    pairs = pairs_of(kinds, adjacent)
    for eps_prv in part((HALF, Fraction(0)), 2):
        bound = largest([pairs] * TIMES, 0, ball(eps_prv).exp())
        true = Fraction(float(bound)).limit_denominator(10**12)
        proved = []
        for more in (0.002, 0.01, 0.03, 0.1):
            try:
                proof(kinds, norm, True, eps_prv, true + Fraction(more).limit_denominator(1000))
                proved.append(more)
                break
            except NoCertificate:
                continue
        assert proved
        # The same pair may be run again and again.
        proof(kinds, norm, False, eps_prv, true * Fraction(4, 5))
        for kept, factor in ((True, Fraction(999, 1000)), (False, Fraction(1001, 1000))):
            with pytest.raises((NoCertificate, NotProved)):
                proof(kinds, norm, kept, eps_prv, true * factor)


@pytest.mark.parametrize(("norm", "adjacent"), NORMS, ids=[norm for norm, _ in NORMS])
def test_greatest_losses_of_parts_add_up(norm, adjacent) -> None:
    kinds = [random_rows(norm), random_rows("other")]
    most = max(log(float(p / q)) for pair in pairs_of(kinds, adjacent) for p, q in pair) * TIMES
    little = Fraction(1, 10**4)
    near = Fraction(most).limit_denominator(10**9)
    for kept, sign in ((True, 1), (False, -1)):
        proof(kinds, norm, kept, near + sign * little, 0)
        refuses((NoCertificate, NotProved), None, proof, kinds, norm, kept, near - sign * little, 0)


def test_losses_above_one_run_are_not_above_two() -> None:
    found = proof([random_rows("l0 2"), random_rows("other")], "l0 2", True, 3, HALF)
    steps: list[Any] = [*found.steps]
    (number,) = (k for k, step in enumerate(steps) if step["rule"] == "losses above parts")
    alone = [*steps[: number + 1], {**steps[-1], "from": [number]}]
    refuses(Refuted, "no losses are above", replay, found.pipeline, found.claim, alone)


def test_every_way_in_which_parts_change_is_covered() -> None:
    """Losses of one part are not above those of two."""
    kinds = [random_rows("l0 2"), random_rows("other")]
    honest = proof(kinds, "l0 2", True, HALF, Fraction(9, 10))
    place = next(k for k, each in enumerate(honest.steps) if each["rule"] == "losses above parts")
    known = [{**each, "from": [max(k, -k - 1) for k in each["from"]]} for each in honest.steps]
    runs = [k for k, each in enumerate(known) if each["rule"] == "distributions"]
    alone = [k for k, each in enumerate(known) if each["rule"] == "losses"]
    assert replay(honest.pipeline, honest.claim, known)
    for losses in ([], alone[:1], alone[-1:], alone):
        fewer = {**known[place], "from": [*runs, *losses]}
        with pytest.raises(Refuted, match=r"nothing is known|no losses are above"):
            replay(honest.pipeline, honest.claim, [*known[:place], fewer, *known[place + 1 :]])
    fewer = {**known[place], "from": [k for k in known[place]["from"] if k != runs[0]]}
    with pytest.raises(Refuted, match="does for all its inputs"):
        replay(honest.pipeline, honest.claim, [*known[:place], fewer, *known[place + 1 :]])


def test_losses_above_parts_are_those_of_one_run() -> None:
    """What is above one run of two is not above both."""
    honest = proof([random_rows("l0 2"), random_rows("other")], "l0 2", True, HALF, Fraction(9, 10))
    concluded: dict[int, Any] = {}
    known = [{**each, "from": [max(k, -k - 1) for k in each["from"]]} for each in honest.steps]
    assert replay(honest.pipeline, honest.claim, known, concluded.__setitem__)
    place = next(k for k, each in enumerate(known) if each["rule"] == "losses above parts")
    assert [*concluded[place].times.values()] == [1]
    once = [*known[: place + 1], {**known[-1], "from": [place]}]
    refuses(Refuted, "no losses are above", replay, honest.pipeline, honest.claim, once)


def test_what_is_chosen_as_it_goes_is_no_part() -> None:
    """It has bounds where it is looked at, not at every loss."""
    kinds = [random_rows("l0 2"), random_rows("other")]
    honest = proof(kinds, "l0 2", True, HALF, Fraction(9, 10))
    known = [{**each, "from": [max(k, -k - 1) for k in each["from"]]} for each in honest.steps]
    place = next(k for k, each in enumerate(known) if each["rule"] == "losses above parts")
    run = next(k for k, each in enumerate(known) if each["rule"] == "distributions")
    grid = {name: known[place][name] for name in ("step", "offset", "places", "knots")}
    fields = {"sample": None, "above": True, "margin": 0, "times": 1, "reach": 64}
    listed = [[[u], [v]] for u, v in ((0, 1), (1, 0))]
    chosen = {"rule": "adaptive", "from": [run], "of": known[run]["of"], "pairs": listed}
    last = known[place]["from"][-1]
    more = [
        {**chosen, **grid, **fields},
        {"rule": "composed", "from": [place, last], "cut": [0, 0]},
        {**known[place], "from": [*known[place]["from"][:-1], place + 1]},
    ]
    steps = [*known[:place], *more]
    refuses(BadProof, "chosen from are no parts", replay, honest.pipeline, honest.claim, steps)


@pytest.mark.thorough
def test_counts_of_histograms_cost_what_one_does() -> None:
    """One may change by 2, or two of them by 1: of 4^8 outputs none is gone through."""
    text = text_of("kernel/composed_parts-1")
    runs = [{"program": dipapprox.parse(text), "eps": 1, "times": 3}]
    answer = dipapprox.compose(runs, options=Options(proved=True)).epsilon("1/1000000")
    ends = answer.eps_prv_enclosure
    assert ends is not None and answer.reason is None
    assert ends.lower is not None and ends.upper is not None
    # Each run is 1/2-differentially private, and attains that.
    assert Fraction(149, 100) < ends.lower <= ends.upper < Fraction(15005, 10000)


def coins(*odds: list[str]) -> Any:
    """Each shows its input, with the first of these odds."""
    body = []
    for k, own in enumerate(odds):
        one, other = (
            [["choose", ["cell", f"o{k}"], [[0, p], [1, q]], False]] for p, q in (own, own[::-1])
        )
        body.append(["if", ["=", ["cell", f"q{k}"], 0], one, other])
    inputs, outputs = ([[f"{name}{k}", [0, 1]] for k in range(len(odds))] for name in "qo")
    return finite(body, inputs=inputs, outputs=outputs)


ONE_PART = {"rule": "losses", "from": [0], "sample": None, "orders": [], "step": "1/8", "offset": 0}
ONE_PART |= {"places": 60, "knots": [[-40, 40, 1]]}


def test_pairs_that_are_listed_count_adjacent_or_not() -> None:
    """For one of two coins that differs delta is .63 at eps_prv = 1, for both .78."""
    machine = coins(*[["9/10", "1/10"]] * 2) | {"adjacency": {"norm": "l0", "radius": 1}}
    about = {"of": {"part": [0, 1], "pairs": None}}, {"of": {"part": [0, 1], "pairs": [*LISTED]}}
    said = {"eps": 1, "eps_prv": 1, "delta": "7/10"}
    steps = [
        {**RUN, "bits": 60, **about[0]},
        {**ONE_PART, **about[1], "above": True, "input": None, "adjacent": None},
        {"rule": "private composition", "from": [1, 0], "parts": [[0, 1], [1, 2]], **said},
    ]
    claim = {"verdict": "DP", "pairs": None, **said}
    assert replay(machine, claim, steps)
    # What a part does may be told in closed form: at this eps.
    for eps in (1, 2, {"from": 1, "to": 2}):
        exact = {**steps[0], "bits": None, "eps": eps}
        told = [*steps[:2], exact, {**steps[2], "from": [1, 2]}]
        if eps == 1:
            assert replay(machine, claim, told)
        else:
            refuses(Refuted, "does for all its inputs", replay, machine, claim, told)
    far = {**claim, "pairs": [[[0, 0], [1, 1]]]}
    refuses(Refuted, "no losses are above", replay, machine, far, steps)


def test_losses_below_a_pair_are_below_no_other_one() -> None:
    """Of two coins the first one tells its input, the second one does not."""
    machine = coins(["9/10", "1/10"], ["1/2", "1/2"])
    first, second = [[0, 0], [1, 0]], [[0, 0], [0, 1]]
    run, one = RUN | {"bits": 60}, {**ONE_PART, "above": False}
    both = {"rule": "losses below parts", "from": [3, 0, 1], "parts": [[0, 1], [1, 2]], "eps": 1}
    steps: list[Any] = [
        *({**run, "of": {"part": part, "pairs": None}} for part in ([0, 1], [1, 2], [0, 2])),
        {**one, "of": {"part": [0, 1], "pairs": [[[0], [1]]]}, "input": [0], "adjacent": [1]},
        {**both, "of": {"part": [0, 2], "pairs": [first, second]}, "input": [0, 0]},
    ]
    steps[-1]["adjacent"] = [1, 0]
    said = {"eps": 1, "eps_prv": 0, "delta": "1/2"}
    last = {"rule": "violated composition", "from": [4, 2], "parts": [[0, 2]], **said}

    def told(pair: list[list[int]]) -> object:
        claim = {"verdict": "Not_DP", "pairs": [pair], **said}
        return replay(machine, claim, [*steps, {**last, "input": pair[0], "adjacent": pair[1]}])

    assert told(first)
    refuses(Refuted, "not so much changes so", told, second)
