"""Claims about intervals of eps that are decided, and the proofs that are written of them."""

import json
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from dipapprox import Decision, Options
from dipapprox.pairs.selections import AllPairs, OrderedPairs
from dipapprox.privacy.decisions.decider import decide
from dipapprox.privacy.decisions.decision import DecisionQuestion, read_epsilons
from dipapprox.privacy.decisions.delta import read_delta
from dipapprox.privacy.run import Replayed, Setting
from dipapprox.proof_steps.throughout import goals_of, replayed_throughout
from kernel.forgeries import Proof
from kernel.small import program_of, small_text
from tests.cases import text_of

STEPS_OF_NOISE = text_of("kernel/throughout-steps_of_noise")
TURNING = text_of("kernel/throughout-turning")
EITHER = text_of("kernel/throughout-either")


@dataclass(frozen=True, slots=True)
class Asked:
    text: str
    answer: str
    budget: str = "1"
    delta: str = "0"
    interval: str = "0..inf"
    pair: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    @property
    def selection(self) -> AllPairs | OrderedPairs:
        if self.pair is None:
            return AllPairs()
        first, second = (tuple(map(Fraction, each)) for each in self.pair)
        return OrderedPairs(((first, second),))

    def decision(self) -> Decision:
        """Decide it, once."""
        return _decided(self)

    def replayed(self) -> Replayed:
        """Decide it, and let the kernel replay a proof."""
        goals = goals_of(self.decision())
        setting = Setting(program_of(self.text), self.selection, Options())
        return replayed_throughout(setting, goals)

    def proof(self) -> Proof:
        """The proof, as a file would have it."""
        proof = self.replayed().proof
        machine, claim, steps = json.loads(json.dumps([proof.machine, proof.claim, proof.steps]))
        return machine, claim, steps


@cache
def _decided(asked: Asked) -> Decision:
    question = DecisionQuestion(
        Fraction(asked.budget), read_delta(asked.delta), read_epsilons(asked.interval)
    )
    return decide(Setting(program_of(asked.text), asked.selection, Options()), question)


ASKED = {
    "one-sided, broken": Asked(small_text("one-sided noise"), "Not_DP"),
    "one-sided, kept": Asked(small_text("one-sided noise"), "DP", delta="1 - exp(-eps)"),
    "named values, kept": Asked(small_text("named values"), "DP"),
    "named values, half": Asked(small_text("named values"), "Not_DP", "1/2"),
    "named values, a bound": Asked(
        small_text("named values"), "DP", "1/4", "(1 - exp(-3*eps/4)) / 2 + eps / 8", "0..3"
    ),
    "a loop": Asked(small_text("a loop that ends by chance"), "DP", "4"),
    "a loop, broken": Asked(small_text("a loop that ends by chance"), "Not_DP", "1/8"),
    "a coin, then noise": Asked(
        small_text("a coin, then noise, joined"), "DP", "2", "1/4", "1/4..3/2"
    ),
    "a coin, broken": Asked(small_text("a coin, then noise, joined"), "Not_DP", "1/8", "0", "0..1"),
    "in proportion": Asked(small_text("a choice in proportion"), "DP", "2", "1/2", "0..1"),
    "integers": Asked(STEPS_OF_NOISE, "DP", "3/2"),
    "integers, broken": Asked(STEPS_OF_NOISE, "Not_DP", "1/8"),
    "integers, a bound": Asked(STEPS_OF_NOISE, "DP", "1/4", "1 - exp(-eps / 4)", "0..8"),
    "signs that change": Asked(TURNING, "DP", "1", "3/4", "0..2"),
    "signs that change, broken": Asked(TURNING, "Not_DP", "1", "1/2", "0..2"),
    "one pair": Asked(TURNING, "DP", "0", "4/5", "1/2..1", ((0,), (1,))),
    "either noise": Asked(EITHER, "DP"),
    "at one eps": Asked(EITHER, "DP", interval="2/3..2/3"),
    "an irrational bound": Asked(small_text("one-sided noise"), "DP", "1", "exp(-1/2)", "0..9/10"),
    "an irrational bound, broken": Asked(small_text("one-sided noise"), "Not_DP", "1", "exp(-1/2)"),
    "attained, then more": Asked(
        small_text("one-sided noise"), "DP", "1", "1 - exp(-eps) + (eps - 2/3)^2"
    ),
}


@cache
def proofs() -> dict[str, Proof]:
    return {name: asked.proof() for name, asked in ASKED.items()}
