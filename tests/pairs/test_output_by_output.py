"""Every output on its own, against every pair: sharp for single outputs, and for pure privacy."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from pathlib import Path

import pytest
from pair_programs import CASES, SCRAMBLED
from scrambled import Scrambled

import dipapprox
from dipapprox import Program
from dipapprox.arithmetic.enclosure import Enclosure
from dipapprox.events.symmetry import CellSymmetry
from dipapprox.limits import Limits
from dipapprox.pairs import output_by_output, selected
from dipapprox.pairs.adjacency import adjacent_pairs, count_pairs
from dipapprox.pairs.growth import eps_prv_factor
from dipapprox.pairs.output_by_output import OutputByOutput
from dipapprox.pairs.selections import AllPairs
from dipapprox.pairs.tables import Tables
from dipapprox.pairs.walk import plan_walk
from dipapprox.privacy.claim import Claim
from dipapprox.privacy.options import Options
from dipapprox.privacy.profiles.profile import profile
from dipapprox.privacy.profiles.profile_result import LeastEpsPrv
from dipapprox.privacy.profiles.question import AtDelta
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.privacy.verifier import verify
from dipapprox.semantics.execution import execute

PROGRAMS = Path(__file__).parents[2] / "programs"
NEAR = Fraction(1, 2**40)
EVERY = {**CASES, **SCRAMBLED}


@pytest.mark.parametrize("budget", [Fraction(0), Fraction(1, 5)])
@pytest.mark.parametrize("name", sorted(EVERY))
def test_the_largest_terms_are_found(name: str, budget: Fraction) -> None:
    program = EVERY[name]()
    states = execute(program, True, Limits())
    source = Scrambled(states, 11)
    cells, total = program.inputs, count_pairs(program.inputs, program.adjacency)
    walk = plan_walk(cells, program.adjacency)
    assert walk is not None and total is not None
    symmetry = CellSymmetry(states)
    assert OutputByOutput.is_affordable(symmetry, cells, walk)
    tables = Tables(source, len(states.outputs))
    pairs = OutputByOutput(symmetry, cells, walk, tables, total, Limits())
    factor = eps_prv_factor(budget, 100)
    found = pairs.at(factor, 40)
    assert found is not None and found.pair is not None
    distributions = {
        u: source.distribution(u, 0) for u in product(*(cell.domain for cell in cells))
    }

    def terms(u: object, v: object) -> list[Fraction]:
        both = zip(distributions[u], distributions[v], strict=True)  # type: ignore[index]  # inputs of values
        return [max(p.lower - factor.lower * q.lower, Fraction(0)) for p, q in both]

    adjacent = list(adjacent_pairs(cells, program.adjacency))
    largest = [max(of) for of in zip(*(terms(u, v) for u, v in adjacent), strict=True)]
    assert found.delta.lower <= max(largest) <= found.delta.lower + NEAR
    assert found.delta.upper - NEAR <= min(sum(largest), Fraction(1)) <= found.delta.upper
    assert max(terms(*found.pair)) >= found.delta.lower
    assert found.pair in adjacent or not max(largest)


def verified(program: Program, claim: Claim) -> Verdict:
    return verify(program, claim, AllPairs(), Options())


def shipped(name: str) -> Program:
    text = (PROGRAMS / f"{name}.dpg").read_text("utf-8")
    return dipapprox.parse(text, {"N": 4}, name)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are too large, counters too many, and no single pair is needed for a proof."""
    monkeypatch.setattr(selected, "plan_counters", lambda *_: None)
    monkeypatch.setattr(selected, "LARGEST_TABLE", 0)
    monkeypatch.setattr("dipapprox.pairs.many_pairs.search_blocks", None)


@pytest.mark.parametrize("name", ["noisy_max_laplace", "svt_laplace", "noisy_min_laplace"])
def test_pure_privacy_is_proved_and_refuted(name: str, alone: None) -> None:
    half = Fraction(1, 2)
    program = shipped(name)
    verdict = verified(program, Claim(half, Fraction(0)))
    assert verdict.answer is Answer.DP
    assert verdict.pairs == 240
    assert verdict.delta_enclosure is not None and not verdict.delta_enclosure.upper
    # Claims that are not tight are decided as well.
    loose = verified(program, Claim(half, half, Fraction(1, 10)))
    assert loose.answer is Answer.DP
    assert verified(program, Claim(half, Fraction(0), Fraction(1, 10))).answer is (Answer.NOT_DP)


def test_a_budget_that_is_attained_needs_exact_forms(
    alone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond all counts, one more is e times as likely: exactly the budget."""
    text = """
    param n = 7
    input q[n] in {0, 1}
    output out in {0, 1}
    adjacent l0 1
    out <- 0
    x <- Lap(q[1] + q[2] + q[3] + q[4] + q[5] + q[6] + q[7], 1 / eps)
    if x >= 20 then
        out <- 1
    end
    """
    claim = Claim(Fraction(1), Fraction(0))
    verdict = verified(dipapprox.parse(text), claim)
    assert verdict.answer is Answer.DP
    assert verdict.pairs == 7 * 2**7
    monkeypatch.setattr(output_by_output, "_MOST_SETTLED", 0)
    with pytest.raises(TypeError):  # handed to the blocks
        verified(dipapprox.parse(text), claim)


@pytest.mark.parametrize("name", ["noisy_max_laplace", "svt_laplace", "noisy_min_gauss"])
def test_the_least_pure_budget(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def least() -> Enclosure:
        found = profile(shipped(name), Fraction(1, 2), AtDelta(Fraction(0)), AllPairs(), Options())
        assert isinstance(found, LeastEpsPrv) and found.run.reason is None
        bounds = found.eps_prv_enclosure
        assert bounds.lower is not None and bounds.upper is not None
        return Enclosure(bounds.lower, bounds.upper)

    usual = least()
    monkeypatch.setattr(selected, "plan_counters", lambda *_: None)
    monkeypatch.setattr(selected, "LARGEST_TABLE", 0)
    monkeypatch.setattr(selected.PairArrays, "__iter__", None)  # no pair is gone through
    alone = least()
    assert alone.meets(usual)
    assert alone.width <= Fraction(1, 10**9)
