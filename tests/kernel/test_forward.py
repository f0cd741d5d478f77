"""The kernel's runs against the verifier's distributions, and verdicts replayed."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice
from math import exp
from pathlib import Path

import pytest

from dipapprox import Answer, Options, Program, parse, verify
from dipapprox.errors import UserError
from dipapprox.kernel.adjacency import all_inputs
from dipapprox.kernel.balls import lower_at, precision, upper_at
from dipapprox.kernel.errors import BadProof, NotProved, Refused
from dipapprox.kernel.judgements import Distributions, ExactDistributions
from dipapprox.kernel.machine import read_input, read_machine
from dipapprox.kernel.proofs import Proof
from dipapprox.kernel.replay import apply, replay
from dipapprox.pairs.selections import AllPairs
from dipapprox.privacy.probabilities import output_distribution
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import input_json
from dipapprox.proof_steps.verdicts import attempts, goal_of, written
from dipapprox.replays.words import words_of
from tests.thorough import part

PROGRAMS = Path(__file__).parent.parent.parent / "programs"
EPS = Fraction(1, 2)


def program_of(path: Path) -> Program | None:
    """A program with finite inputs and outputs; None for others."""
    try:
        program = parse(path.read_text(encoding="utf-8"), SMALLER.get(path.stem, {}))
        assert isinstance(program, Program)
        machine_json(program)
    except UserError:
        return None
    return None if program.real_outputs else program


FILES = sorted(
    [*PROGRAMS.glob("*.dpg"), *PROGRAMS.glob("dipc/*.dpg"), *PROGRAMS.glob("literature/*.dpg")]
)

SMALLER: dict[str, dict[str, int]] = {"svt_prefix_gauss": {"N": 2}}
"""Parameters of what takes seconds otherwise."""

MANY = {
    *("laplace_parallel", "rappor_one_time", "rappor"),
    *("noisy_histogram", "noisy_histogram_wrong_scale"),
}
"""Their outputs are those of hundreds of independent choices or samples."""

REFUSED = {
    "sums with samples of Lap have only closed forms",
    "samples that only sums compare",
    "more states than the kernel follows",
}


def distributions(
    program: Program, inputs: list[object], bits: int | None
) -> Distributions | ExactDistributions:
    """What the kernel says of some inputs."""
    proof = Proof(read_machine(machine_json(program)), None)
    step = {"rule": "distributions", "from": [], "eps": "1/2", "inputs": inputs, "cuts": []}
    step["bits"] = bits
    found = apply(proof, {}, step)
    assert isinstance(found, Distributions | ExactDistributions)
    return found


@pytest.mark.parametrize("path", part(FILES, 5), ids=lambda path: path.stem)
def test_a_run_has_the_distribution_that_the_verifier_finds(path: Path) -> None:
    program = program_of(path)
    if program is None or path.stem in MANY:
        return
    if path.stem == "truncated_geometric_printed":
        # No probability distribution at this eps for some inputs, which the verifier refuses.
        return
    machine = read_machine(machine_json(program))
    inputs = list(islice(all_inputs(machine.domains), 40))[7::23]
    written = [input_json(each) for each in inputs]
    try:
        found = distributions(program, written, 40)
    except Refused as refused:
        assert str(refused) in REFUSED
        if not str(refused).endswith("closed forms"):
            return
        found = as_enclosed(distributions(program, written, None))
    assert isinstance(found, Distributions)
    unit = Fraction(1, 2**found.places)
    for input in inputs:
        expected = output_distribution(program, EPS, tuple(map(value, input)), Options())
        own = dict(zip(found.outputs, zip(*found.bounds[input], strict=True), strict=True))
        for each in expected.outputs:
            low, high = own.pop(each.output, (0, 0))
            assert low * unit <= each.probability.upper
            assert each.probability.lower <= high * unit
            assert (high - low) * unit < Fraction(1, 2**30)
        assert all(high * unit < Fraction(1, 2**30) for _, high in own.values())


def as_enclosed(found: Distributions | ExactDistributions) -> Distributions:
    """Closed forms at 1/2, enclosed."""
    assert isinstance(found, ExactDistributions)
    bounds = {}
    with precision(200):
        for input, row in found.values.items():
            balls = [found.forms[k].ball(found.epsilons.lower) for k in row]
            bounds[input] = [lower_at(b, 60) for b in balls], [upper_at(b, 60) for b in balls]
    return Distributions(found.epsilons.lower, 60, found.outputs, bounds)


def value(given: int | Fraction | str) -> Fraction | str:
    """As the verifier has values."""
    return given if isinstance(given, str) else Fraction(given)


THRESHOLD = """
input q in {0, 1}
output o in {0, 1}
adjacent linf 1
x <- Lap(q, 1 / eps)
if x >= 1/2 then o <- 1 else o <- 0 end
"""


def replayed(delta: str, eps_prv: str, edit: tuple[str, object] | None = None) -> str:
    """The verdict of the verifier, its proof perhaps with another claim."""
    program = parse(THRESHOLD)
    assert isinstance(program, Program)
    verdict = verify(program, eps="1/2", delta=delta, eps_prv=eps_prv)
    assert verdict.answer is not Answer.UNKNOWN
    goal = goal_of(verdict)
    proof = written(program, goal, AllPairs(), next(attempts(goal)))
    claim, steps = dict(proof.claim), [dict(step) for step in proof.steps]
    if edit is not None:
        claim[edit[0]] = edit[1]
        steps[-1] |= {edit[0]: edit[1]} if edit[0] in steps[-1] else {}
        steps[0] |= {edit[0]: edit[1]} if edit[0] in steps[0] else {}
    return words_of(replay(proof.machine, claim, steps))


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("delta", 2),
        ("delta", -1),
        ("eps_prv", -1),
        ("delta", "2/4"),
        ("delta", 0.1),
        ("delta", True),
    ],
)
def test_claims_that_are_none_are_bad_proofs(field: str, bad: object) -> None:
    with pytest.raises(BadProof):
        replayed("1/2", "1/2", (field, bad))


def test_named_values_and_inputs_outside_their_domains() -> None:
    program = parse("input q in {low, high}\noutput o in {low, high}\nadjacent all\no <- q")
    assert isinstance(program, Program)
    machine = read_machine(machine_json(program))
    domains = tuple(domain for _, domain in machine.inputs)
    assert read_input([{"name": "low"}], domains) == ("low",)
    for bad in (["low"], [{"name": "mid"}], [0], [], [{"name": "low"}, {"name": "low"}], "low"):
        with pytest.raises(BadProof):
            read_input(bad, domains)


def test_what_has_no_meaning_is_not_proved() -> None:
    start = {"inputs": [], "outputs": [["o", [0, 1]]], "adjacency": {"norm": "all"}}
    one, x, y = ["set", ["cell", "o"], 1], ["cell", "x"], ["cell", "y"]
    noise = ["draw", x, "Lap", 0, [1, -1]]
    bodies: list[list[object]] = [
        [],
        [["set", ["cell", "o"], 2]],
        [["set", ["cell", "o"], ["cell", "x"]]],
        [["choose", ["cell", "o"], [[0, "1/2"], [1, "1/3"]], False]],
        [["choose", ["cell", "o"], [[0, -1], [1, 2]], False]],
        [["choose", ["cell", "o"], [[0, 0], [1, 0]], True]],
        [["draw", ["cell", "o"], "Lap", 0, [1, -1]]],
        [["draw", ["cell", "x"], "DLap", "1/2", [1, -1]], one],
        [["set", ["element", "o", 3, 4], 1]],
        [one, noise, ["draw", y, "Lap", x, [1, -1]]],
        [one, noise],
        [one, noise, ["set", y, {"name": "word"}]],
    ]
    for body in bodies:
        reals = ["y"] if body in bodies[-2:] else []
        proof = Proof(read_machine({**start, "reals": reals, "body": body}), None)
        step = {
            "rule": "distributions",
            "from": [],
            "eps": 1,
            "inputs": None,
            "cuts": [[]] * len(reals),
            "bits": 20,
        }
        with pytest.raises(NotProved):
            apply(proof, {}, step)


def test_real_and_integer_noise_in_one_cell_stay_apart() -> None:
    x, b, o = (["cell", name] for name in "xbo")
    machine = {
        "inputs": [],
        "outputs": [["o", [0, 1]]],
        "reals": [],
        "adjacency": {"norm": "all"},
        "body": [
            ["choose", b, [[0, "1/2"], [1, "1/2"]], False],
            ["if", ["=", b, 0], *([["draw", x, law, 0, [1, 0]]] for law in ("Lap", "DLap"))],
            ["forget", ["b"]],
            ["if", [">", x, "1/2"], [["set", o, 1]], [["set", o, 0]]],
        ],
    }
    run = {"rule": "distributions", "from": [], "eps": 1, "inputs": None, "cuts": [], "bits": 40}
    found = apply(Proof(read_machine(machine), None), {}, run)
    assert isinstance(found, Distributions)
    low, high = (bounds[found.outputs.index((1,))] / 2**found.places for bounds in found.bounds[()])
    true = exp(-1 / 2) / 4 + 1 / (2 * (1 + exp(1)))
    assert low - 1e-15 < true < high + 1e-15
    assert high - low < 1e-10
