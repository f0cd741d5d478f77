"""Verdicts at one eps, as proofs: the claim, and the steps that the kernel replays.

A run of the machine needs no hints, so steps say which inputs it is run for and how exactly, and
how the verdict follows.
"""

from __future__ import annotations

from fractions import Fraction

from dipapprox.data_classes import dataclass
from dipapprox.errors import NoCertificate
from dipapprox.language.core import Program
from dipapprox.pairs.adjacency import OrderedPairs, PairSelection
from dipapprox.privacy.notation import finite
from dipapprox.privacy.verdict import Answer, Verdict
from dipapprox.proof_steps.machines import Json, input_json, machine_json, number_json

LEAST_BITS = 24
"""Distributions are enclosed at least to 2 ** -LEAST_BITS."""


@dataclass(frozen=True, slots=True)
class WrittenProof:
    """A proof as the kernel reads it: JSON."""

    machine: Json
    claim: Json
    steps: tuple[Json, ...]


def verdict_proof(
    program: Program, verdict: Verdict, selection: PairSelection, finer: int = 1
) -> WrittenProof:
    """Return the proof of a verdict.

    Args:
        program: What was verified.
        verdict: DP or Not_DP.
        selection: The pairs that were selected.
        finer: How many times the bits to ask for that seem to be enough.

    Raises:
        NoCertificate: If the kernel has no rules for it.
    """
    claim = verdict.claim
    if claim.growth.multiple != 1:
        raise NoCertificate("the claimed eps_prv is no rational number")
    machine = machine_json(program)
    private = verdict.answer is Answer.DP
    pairs: Json = None
    if isinstance(selection, OrderedPairs):
        listed = dict.fromkeys(selection.pairs)
        pairs = [[input_json(u), input_json(v)] for u, v in listed]
    stated: dict[str, Json] = {
        "eps_prv": number_json(claim.eps_prv),
        "delta": number_json(claim.delta),
    }
    if private:
        inputs: Json = None
        if isinstance(selection, OrderedPairs):
            own = dict.fromkeys(input for pair in selection.pairs for input in pair)
            inputs = [input_json(each) for each in own]
        step: dict[str, Json] = {"rule": "every pair", "from": [-1], **stated}
        gap = claim.delta - verdict.delta_enclosure.upper if verdict.delta_enclosure else None
    else:
        witness = verdict.witness
        if witness is None or witness.at_least is not None:
            raise NoCertificate("the violating outputs are too many to be recorded")
        inputs = [input_json(witness.input), input_json(witness.adjacent)]
        step = {
            "rule": "violation",
            "from": [-1],
            **stated,
            "input": inputs[0],
            "adjacent": inputs[1],
            "outputs": [input_json(finite(row.output)) for row in witness.rows],
        }
        gap = witness.delta_enclosure.lower - claim.delta
    run: dict[str, Json] = {"from": [], "eps": number_json(claim.eps), "inputs": inputs}
    if private and gap is not None and gap <= 0:
        # The bound is attained, or nearly: only closed forms tell.
        run["rule"] = "exact distributions"
        step["rule"] = "every pair exactly"
    else:
        run |= {"rule": "distributions", "bits": finer * _bits(gap, verdict)}
    said: Json = {
        "verdict": verdict.answer.value,
        "eps": number_json(claim.eps),
        **stated,
        "pairs": pairs,
    }
    return WrittenProof(machine, said, (run, step))


def _bits(gap: Fraction | None, verdict: Verdict) -> int:
    """How exactly a run has to be known for the verdict to follow: well below what decides it."""
    if gap is None:
        return LEAST_BITS
    spare = 8 + verdict.run.outputs.bit_length() + 2 * int(verdict.claim.eps_prv)
    return max(LEAST_BITS, (1 / gap).__ceil__().bit_length() + spare)
