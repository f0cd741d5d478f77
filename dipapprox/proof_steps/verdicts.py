"""Claims at one eps that are kept or broken, as proofs that the kernel replays: `--proved`.

A run of the machine needs no hints, so steps say which inputs it is run for and how exactly, and
how the claim follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from time import perf_counter
from typing import TypeVar

from dipapprox.data_classes import Record, replace
from dipapprox.errors import EarlyEnd, NoCertificate
from dipapprox.kernel.clamps import without_clamps
from dipapprox.kernel.errors import NotProved, Refused, Refuted, asking
from dipapprox.kernel.machine import read_machine
from dipapprox.kernel.replay import replay
from dipapprox.kernel.sets import representatives
from dipapprox.language.core import Input, Program
from dipapprox.language.domains import has_real_inputs
from dipapprox.limits import check_limits
from dipapprox.pairs.selections import OrderedPairs, PairSelection
from dipapprox.privacy.notation import finite
from dipapprox.privacy.run import Engine, Replayed, Setting, Witness
from dipapprox.privacy.verdict import Answer, Claim, Verdict
from dipapprox.proof_steps.independent_parts import parts_proof
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import Json, input_json, number_json, numbers_json, pair_json
from dipapprox.proof_steps.serving import served_step


def single_inputs(machine: Json) -> Json:
    """Return the inputs of pairs of which delta is largest; None if they are not enough."""
    try:
        pairs = representatives(without_clamps(read_machine(machine)))
    except Refuted:
        return None
    return [*map(input_json, dict.fromkeys(u for pair in pairs for u in pair))]


LEAST_BITS = 24  # distributions are enclosed to 2 ** -LEAST_BITS where nobody knows what is enough
_FEWEST_BITS = 8  # of distributions that are enclosed
IN_CLOSED_FORM = 0  # stands for bits where nothing is enclosed
IN_PARTS = -1  # stands for bits where the parts of a program are looked at, each alone
BY_BUDGET = -2  # stands for bits where a budget serves all numbers between the inputs
MANY_PAIRS = 1_000
"""Of a program that a budget is looked for first, if nothing else is known to be less work."""

MANY_OUTPUTS = 32  # of a program whose parts are tried first
_MOST_RATE = 100  # of e^eps_prv, for which two bits each are spent at first
_MOST_PAIRS = 5_000_000  # more are more work than the kernel spends on them one by one
_MOST_BITS = 500  # that are tried where nobody knows what is enough
_FINER = (2, 4, 8)  # how many times the bits that seem to be enough are tried after them
_JOINT_BITS = 120  # more make no grid of the losses of several numbers finer


class Goal(Record):
    """What the kernel shall confirm about a program: that a claim is kept, or that it is broken."""

    claim: Claim  # the numbers
    # The pair and the outputs that break it; None: all selected pairs keep it.
    witness: Witness | None
    # How far the largest δ, or that of the witness, lies from the claimed one, on the right side; 0
    # or less if it may be attained, None if nobody knows.
    gap: Fraction | None
    outputs: int  # how many the program has
    exactly: bool = False  # whether closed forms decided some pair
    is_pure: bool = False  # whether numbers that are published keep the claim with δ = 0
    at_every: bool = False  # whether the claim is broken at every ε_prv


def goal_of(verdict: Verdict) -> Goal:
    """Return what a verdict, DP or Not_DP, says."""
    claim, found = verdict.claim, verdict.delta_enclosure
    outputs, exactly = verdict.run.outputs, Engine.EXACT.value in verdict.engine.split(" + ")
    if verdict.answer is Answer.DP:
        gap = None if found is None else claim.delta - found.upper
        is_pure = bool(verdict.run.program.real_outputs) and gap == claim.delta
        return Goal(claim, None, gap, outputs, exactly, is_pure)
    witness = verdict.witness
    if witness is None:
        raise NoCertificate("there is no witness")
    gap = witness.delta_enclosure.lower - claim.delta
    return Goal(claim, witness, gap, outputs, exactly)


def attempts(goal: Goal, pairs: int | None = None) -> Iterator[int]:
    """Yield the bits to ask for, of so many pairs: those that seem to be enough, then others."""
    attained = goal.gap is None or goal.gap <= 0
    by_budget = [BY_BUDGET] if goal.witness is None else []
    if goal.outputs > MANY_OUTPUTS:
        yield IN_PARTS
    if goal.is_pure or (pairs or 0) > (MANY_PAIRS if attained else _MOST_PAIRS):
        yield from by_budget
        by_budget = []
    bits = LEAST_BITS
    if goal.gap is not None and goal.gap > 0:
        # Below what decides it: errors are in proportion to probabilities, which add up to 1.
        rate = min(int(goal.claim.growth.rate), _MOST_RATE)
        spare = 1 + goal.outputs.bit_length() // 4 + 2 * rate
        bits = max(_FEWEST_BITS, (1 / goal.gap).__ceil__().bit_length() + spare)
    first: list[int] = []
    if attained:
        # The bound is attained, or nearly: if closed forms decided, enclosures did not tell.
        first = [IN_CLOSED_FORM] if goal.exactly else [bits, IN_CLOSED_FORM]
    finer = [min(k * bits, max(bits, _MOST_BITS)) for k in _FINER]
    yield from dict.fromkeys([*first, bits, *finer, IN_CLOSED_FORM])
    if goal.outputs <= MANY_OUTPUTS:
        yield IN_PARTS
    yield from by_budget


def least_of(goal: Goal, bits: int) -> Fraction:
    """Return the eps_prv that a proof is about: what holds there holds at a larger one.

    It is one that bits are enough for; that the claim holds there nobody knows, if it is smaller.
    """
    stated = goal.claim.eps_prv
    if goal.witness is not None or bits <= 0:
        return stated
    return min(stated, Fraction(max(4 * bits // 7, _MOST_RATE)))


class WrittenProof(Record):
    """A proof as the kernel reads it: JSON."""

    machine: Json
    claim: Json
    steps: tuple[Json, ...]


def written(setting: Setting, goal: Goal, bits: int) -> WrittenProof:
    """Return a proof, for which runs are enclosed so exactly."""
    program, claim, witness = setting.program, goal.claim, goal.witness
    if claim.growth.multiple != 1:
        raise NoCertificate("the claimed eps_prv is no rational number")
    machine = machine_json(program)
    eps_prv = None if goal.at_every else claim.eps_prv
    stated = numbers_json(eps=claim.eps, eps_prv=eps_prv, delta=claim.delta)
    pairs, inputs = listed(setting.selection)
    verdict = Answer.DP if witness is None else Answer.NOT_DP
    said: dict[str, Json] = {"verdict": verdict.value, **stated, "pairs": pairs}
    steps: Sequence[Json]
    if bits == BY_BUDGET:
        steps = [served_step(machine, claim.eps_prv / claim.eps, claim.eps) | stated]
    elif bits == IN_PARTS:
        broken = None if witness is None else (witness.input, witness.adjacent)
        steps = parts_proof(machine, said, broken)
    elif witness is None:
        if bits == IN_CLOSED_FORM and (setting.count() or 0) > _MOST_PAIRS:
            raise Refused(f"more than {_MOST_PAIRS} pairs")
        enough = {**said, "eps_prv": number_json(least_of(goal, bits))}
        steps = kept(program, machine, enough, inputs, bits)
    else:
        steps = _broken(program, witness, said, bits)
    return WrittenProof(machine, said, tuple(steps))


def listed(selection: PairSelection) -> tuple[Json, Json]:
    """Return the pairs that are listed, and their inputs; None for all."""
    if not isinstance(selection, OrderedPairs):
        return None, None
    pairs = dict.fromkeys(selection.pairs)
    inputs = dict.fromkeys(u for pair in pairs for u in pair)
    return [[input_json(u), input_json(v)] for u, v in pairs], [*map(input_json, inputs)]


def kept(
    program: Program, machine: Json, said: dict[str, Json], inputs: Json, bits: int
) -> Sequence[Json]:
    """Return steps to a claim that is kept, for all adjacent pairs or those that it lists."""
    at_eps: dict[str, Json] = {"from": [], **stated_in(said), "bits": bits}
    if said["pairs"] is None and has_real_inputs(program):
        inputs = single_inputs(machine)
        if inputs is None and not program.real_outputs and bits:
            return [{"rule": "every real pair", **at_eps}]
        if inputs is None:
            raise Refused("a set of pairs of real inputs is bounded by none of them")
    if program.real_outputs:
        if isinstance(said["eps"], dict | list):
            raise Refused("densities of published numbers are bounded at one eps, on no interval")
        return [{"rule": "every published pair", **at_eps}]
    every: dict[str, Json] = {"rule": "every pair", "from": [-1], **stated_in(said, at_eps=False)}
    return [run_step(said, inputs, bits), every]


def stated_in(said: dict[str, Json], *, at_eps: bool = True) -> dict[str, Json]:
    """Return the numbers of a claim, with where they hold or without."""
    return {name: said[name] for name in (*["eps"] * at_eps, "eps_prv", "delta")}


def _broken(program: Program, witness: Witness, said: dict[str, Json], bits: int) -> list[Json]:
    """Steps to a claim that is broken."""
    pair = witness.input, witness.adjacent
    if program.real_outputs:
        return [published_violation(said, pair, bits or _MOST_BITS)]
    if witness.at_least is not None:
        raise NoCertificate("the violating outputs are too many to be recorded")
    return violation(said, pair, [input_json(finite(row.output)) for row in witness.rows], bits)


def violation(
    said: dict[str, Json], pair: tuple[Input, Input], outputs: list[Json], bits: int
) -> list[Json]:
    """Return steps to a set of outputs of a pair that breaks a claim at one eps."""
    stated = stated_in(said, at_eps=False)
    step: dict[str, Json] = {"from": [-1], **pair_json(pair), **stated, "outputs": outputs}
    return [run_step(said, [*map(input_json, pair)], bits), {"rule": "violation", **step}]


def published_violation(said: dict[str, Json], pair: tuple[Input, Input], bits: int) -> Json:
    """Return the step to a pair that breaks a claim at one eps, of a program with real outputs."""
    step: dict[str, Json] = {"rule": "published violation", "from": [], **stated_in(said)}
    return {**step, "bits": bits, **pair_json(pair)}


def run_step(said: dict[str, Json], inputs: Json, bits: int) -> dict[str, Json]:
    """Return the step that runs a machine: for some inputs, or all."""
    run: dict[str, Json] = {"rule": "distributions", "from": [], "eps": said["eps"]}
    return {**run, "inputs": inputs, "bits": bits or None}


# --- proofs that are tried ------------------------------------------------------------------------


Found = TypeVar("Found")


class NoProof(Record):
    """Why the kernel has no proof."""

    missing: str
    # Whether a limit was reached, or somebody interrupted: nothing else need be tried.
    ended: bool = False
    interrupted: bool = False  # whether it was Ctrl-C

    def to(self, answer: Answer) -> str:
        """Say that an answer has no proof."""
        return f"found {answer.value}, but the kernel has no proof: {self.missing}"


def attempted(prove: Callable[[], Found]) -> Found | NoProof:
    """Return what a proof comes to, or what kept it from that."""
    missing = ""
    with EarlyEnd() as end:
        try:
            return prove()
        except NoCertificate as none:
            missing = none.missing
        except NotProved as obstacle:
            missing = str(obstacle)
    return NoProof(end.reason or missing, end.reason is not None, end.interrupted)


def first_replayed(ways: Iterable[Callable[[], WrittenProof]]) -> Replayed:
    """Replay proofs until one holds; if none does, say why, rather of one that could be written."""
    failed: NotProved | NoCertificate = NoCertificate("there is nothing to try")
    is_written = False
    with asking(check_limits):
        for way in ways:
            start: float | None = None
            try:
                proof = way()
                start = perf_counter()
                replay(proof.machine, proof.claim, proof.steps)
            except (NoCertificate, NotProved) as obstacle:
                if start is not None or not is_written:
                    failed, is_written = obstacle, start is not None
            else:
                return Replayed(len(proof.steps), perf_counter() - start, 0, proof)
    raise failed


class Attempts:
    """Proofs that are tried for one answer, until a limit is reached."""

    def __init__(self) -> None:
        self.replayed: Replayed | None = None  # all that the kernel has; None if nothing
        self.ended: str | None = None  # what ended the search; None if nothing did

    def obstacle(self, prove: Callable[[], Replayed]) -> str | None:
        """Try a proof; return what kept it from being replayed, None if nothing did."""
        if self.ended is not None:
            return self.ended
        found = attempted(prove)
        if not isinstance(found, NoProof):
            self.replayed = found if self.replayed is None else self.replayed + found
            return None
        if found.interrupted:
            raise KeyboardInterrupt
        self.ended = found.missing if found.ended else None
        return found.missing


def proved(setting: Setting, verdict: Verdict) -> Verdict:
    """Return a verdict with what the kernel says; Unknown where it does not follow."""
    if verdict.answer is Answer.UNKNOWN:
        return verdict
    found = attempted(lambda: replayed(setting, goal_of(verdict)))
    if not isinstance(found, NoProof):
        return replace(verdict, replayed=found)
    return replace(
        verdict,
        run=replace(verdict.run, reason=found.to(verdict.answer)),
        answer=Answer.UNKNOWN,
        interrupted=found.interrupted,
    )


def replayed(setting: Setting, goal: Goal) -> Replayed:
    """Replay proofs of a goal until one holds."""
    start = perf_counter()
    failed: NotProved | NoCertificate | None = None
    left = {*attempts(goal)}  # what has some hope left
    if len(setting.program.real_outputs) > 1:
        enough = max(_JOINT_BITS, min(each for each in left if each > 0))
        left = {each for each in left if each <= enough}
    for bits in attempts(goal, setting.count()):
        if bits not in left:
            continue
        if bits == IN_CLOSED_FORM and setting.program.real_outputs and goal.witness is None:
            continue  # there are no such steps
        try:
            with asking(check_limits):
                proof = written(setting, goal, bits)
                replay(proof.machine, proof.claim, proof.steps)
        except (NoCertificate, NotProved) as obstacle:
            if bits in (IN_PARTS, BY_BUDGET):
                continue  # they tell nothing; others say why
            match obstacle:
                case Refused() if bits == IN_CLOSED_FORM:
                    failed = failed or obstacle
                case Refused():
                    failed, left = obstacle, {each for each in left if each <= 0}
                case Refuted() if bits != IN_CLOSED_FORM:
                    failed = obstacle
                    if least_of(goal, bits) < goal.claim.eps_prv:
                        # More was to be proved than is claimed.
                        failed = Refused(f"probabilities below 2^-{_MOST_BITS} tell")
                case _:
                    # It is false, or nothing else can be written.
                    failed, left = obstacle, left & {BY_BUDGET}
        else:
            return Replayed(len(proof.steps), perf_counter() - start, bits, proof)
    raise failed or Refused("there is nothing to try")
