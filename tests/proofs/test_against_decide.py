"""Proved bounds against `decide`, which computes probabilities of finite programs exactly."""

from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox import decide, parse
from dipapprox.limits import Limits
from dipapprox.privacy.verdict import Answer
from dipapprox.proofs.proof import Proof
from dipapprox.proofs.prove_real import prove_real
from tests.texts import text_of
from tests.thorough import examples

Row = tuple[Fraction, ...]

NEARLY = Fraction(19, 20)


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("svt_laplace", {"N": 2}),
        ("m_range_laplace", {}),
        ("k_min_max_laplace", {}),
        ("svt_geometric", {"N": 2}),
        ("svt_laplace_leaky_4", {"N": 2}),
        ("literature/noisy_max_exponential", {"N": 3}),
    ],
)
def test_budgets_hold_on_small_domains(path: str, parameters: dict[str, int]) -> None:
    program = parse(text_of(path), parameters, widen="-1..1" if len(parameters) else None)
    proof = prove_real(program, Limits())
    assert decide(program, budget=proof.upper).answer is Answer.DP


def along(proof: Proof, steps: int) -> list[tuple[Row, Row]]:
    """Adjacent inputs from where rays begin to `steps` times their targets."""
    assert proof.changes.unit == 1
    places = [(Fraction(0), 0)] * len(proof.program.inputs)
    for each in proof.losses:
        part, ray = proof.parts[each.part], each.ray
        start = part.outputs[each.output].states[0].cone.start
        for place, k in enumerate(part.inputs):
            places[k] = start[place], ray.target[place]
    rows = [tuple(q + s * b for q, b in places) for s in range(steps + 1)]
    return list(pairwise(rows))


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("svt_laplace", {"N": 2}),
        ("noisy_max_laplace", {"N": 3}),
        ("svt_geometric", {"N": 3}),
        ("literature/laplace_parallel", {"K": 3}),
        ("literature/noisy_histogram", {"N": 2}),
    ],
)
def test_rays_lose_nearly_the_budget(path: str, parameters: dict[str, int]) -> None:
    program = parse(text_of(path), parameters, widen="-60..60")
    proof = prove_real(program, Limits())
    pairs = along(proof, 4)
    assert decide(program, budget=proof.lower * NEARLY, pairs=pairs).answer is Answer.NOT_DP


@st.composite
def programs(draw: st.DrawFn) -> str:
    """Decision trees over three samples and two inputs, with an output at each leaf."""
    lines = [
        "input q[2] in -1..1",
        "output out in {1, 2, 3}",
        draw(st.sampled_from(["adjacent linf 1", "adjacent l1 1", "adjacent increasing 1"])),
    ]
    means = ["0", "q[1]", "q[2]", "q[1] + 1", "0 - q[2]", "q[1] - q[2]"]
    laws = draw(st.sampled_from([["Lap", "Lap", "LapPlus", "LapMinus"], ["DLap"]]))
    for k in range(1, 4):
        law, mean = draw(st.sampled_from(laws)), draw(st.sampled_from(means))
        lines.append(f"r{k} <- {law}({mean}, {draw(st.integers(1, 3))} / eps)")
    sides = ["r1", "r2", "r3", "0", "1", "q[1]"]

    def tree(depth: int) -> None:
        if depth == 0:
            lines.append(f"out <- {draw(st.integers(1, 3))}")
            return
        left = draw(st.sampled_from(sides[:3]))
        right = draw(st.sampled_from([side for side in sides if side != left]))
        lines.append(f"if {left} {draw(st.sampled_from(['<', '>=']))} {right} then")
        tree(depth - draw(st.integers(1, 2)) if depth > 1 else 0)
        lines.append("else")
        tree(depth - 1)
        lines.append("end")

    tree(3)
    return "\n".join(lines) + "\n"


@examples(2)
@given(programs())
def test_random_programs(text: str) -> None:
    """Private at the upper bound on a small domain; far out on the ray not below the lower one."""
    program = parse(text, widen="-999..999")
    proof = prove_real(program, Limits())
    if proof.answer is Answer.DP:
        assert decide(parse(text), budget=proof.upper).answer is Answer.DP
    if proof.losses:
        pairs = along(proof, 20)
        if proof.answer is Answer.DP:
            last = decide(program, budget=proof.lower * NEARLY, pairs=pairs[-2:])
            assert last.answer is Answer.NOT_DP
        elif proof.answer is Answer.NOT_DP:
            assert decide(program, budget=20, pairs=pairs).answer is Answer.NOT_DP
