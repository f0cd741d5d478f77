"""`prove` on programs: real inputs at a fixed number of them, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import dipapprox
from dipapprox import Answer, RealProof, UserError
from dipapprox.bundled import BUNDLED
from tests.cli.running import run, run_json
from tests.schemas import check_schema

SVT = str(BUNDLED / "svt_laplace.dpg")

LAPLACE = """
input q in real 0..1/2
output out in {low, high}
adjacent linf 1
r <- Lap(q, 1 / eps)
if r >= 0 then out <- high else out <- low end
"""


def test_bounds_of_inputs_bound_what_is_lost(tmp_path: Path) -> None:
    file = tmp_path / "laplace.dpg"
    file.write_text(LAPLACE, encoding="utf-8")
    fields = run_json("prove", str(file))[1]
    # An input that cannot change by more than 1/2 costs 1/2 at most.
    assert fields["least_budget"] == {"lower": "1/2", "upper": "1/2", "exact": True}
    check_schema("prove", fields)
    witness = fields["witness"]
    assert isinstance(witness, dict) and witness["kind"] == "places"
    assert "As ε grows: inputs" in " ".join(run("prove", str(file))[1].split())
    assert run("verify", str(file), "--eps", "1", "--delta", "0")[0] == 0


@pytest.mark.parametrize("rule", ["all", "l0 1"])
def test_bounds_bound_what_may_change(rule: str) -> None:
    program = dipapprox.parse(LAPLACE.replace("linf 1", rule))
    proof = dipapprox.prove(program)
    assert isinstance(proof, RealProof)
    assert str(proof.upper) == "1/2"
    unbounded = dipapprox.parse(LAPLACE.replace("linf 1", rule).replace(" 0..1/2", ""))
    assert dipapprox.prove(unbounded).answer is Answer.NOT_DP


def test_finite_domains_need_a_word() -> None:
    with pytest.raises(UserError, match="finitely many values"):
        dipapprox.prove(SVT)
    assert dipapprox.prove(SVT, reals=True, budget="1/2").answer is Answer.DP  # for N = 2


SPARSE = str(BUNDLED / "streams" / "sparse_stream.dpg")
LEAKY = str(BUNDLED / "svt_laplace_leaky_6.dpg")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        ((SVT, "--for-all", "N"), 0),
        ((SVT, "--for-all", "N", "--budget", "0.99"), 1),
        ((LEAKY, "--for-all", "N", "--budget", "7"), 1),
        ((SPARSE,), 0),
        ((SPARSE, "--timeout", "1e-9"), 3),
    ],
)
def test_any_number_of_rounds(words: tuple[str, ...], status: int) -> None:
    found, fields = run_json("prove", *words)
    assert found == status
    check_schema("prove", fields)


def test_people_see_a_structure_in_the_words_of_the_program(tmp_path: Path) -> None:
    out = tmp_path / "drawn.dot"
    text = " ".join(run("prove", LEAKY, "--for-all", "N", "--draw", str(out))[1].split())
    for part in ("no D makes it (D ε, 0)-DP for every N", "line 19 (r < rT)", "again and again",
                 "r <- Lap(q[i], 2 * Delta / eps)", "lost at ε = 1"):  # fmt: skip
        assert part in text
    assert "color=red" in out.read_text(encoding="utf-8")


def test_other_commands_take_some_rounds() -> None:
    assert run("decide", SPARSE, "--rounds", "2", "--values", "0..1")[0] == 0
