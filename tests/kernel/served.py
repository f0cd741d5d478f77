"""Services with known budgets, and their proofs."""

from fractions import Fraction
from functools import cache
from typing import Any

from dipapprox.proof_steps.verdicts import WrittenProof
from dipapprox.services.service_proof import ServiceProof, prove_service
from tests.cases import text_of
from tests.services.examples import COIN, DATA, HEAD, ONCE, service_of, slots

ANSWER = """
on query ask do
    if done then
        reply <- stop
    else
        done <- true
        REPLY
    end
end
"""
CHOSEN = ANSWER.replace(
    "REPLY", "reply <- choose {n : exp(eps)/(1 + exp(eps)), 1 - n : 1/(1 + exp(eps))}"
)
DECIDED = ANSWER.replace(
    "REPLY", "z <- Lap(n, 2 / eps)\nif z >= 1/2 then reply <- 1 else reply <- 0 end"
)
FIXED = ANSWER.replace("REPLY", "reply <- choose {n : 3/4, 1 - n : 1/4}")
UNCOUNTED = "on query ask do reply <- clamp(DLap(n, 1 / eps), 0, 1) end\n"
TOLD = "on query ask do if n = 1 then reply <- stop else reply <- 0 end end\n"
MIXED = """
state n in 0..1 <- 0
output reply in real
on data d in {0, 1} do n <- d end
on query ask do
    c <- choose {0 : 1/2, 1 : 1/2}
    if n = 0 and c = 0 then reply <- Lap(0, 1/eps) else reply <- DLap(0, 1/eps) end
end
"""
REAL = text_of("kernel/served-real")

EXAMPLES: dict[str, tuple[str, Fraction | None]] = {
    "counted": (HEAD + DATA + ONCE, Fraction(1)),
    "replaced": ("adjacent replace\n" + HEAD + DATA + ONCE, Fraction(1)),
    "coin": (HEAD + COIN + ONCE, Fraction(1)),
    "chosen": (HEAD + DATA + CHOSEN, Fraction(1)),
    "decided": (HEAD + DATA + DECIDED, Fraction(1, 2)),
    "real": (REAL, Fraction(3, 2)),
    "real replaced": ("adjacent replace\n" + REAL, Fraction(3)),
    "slots": (slots("int"), Fraction(2)),
    "thrown": (text_of("kernel/served-thrown"), Fraction(1)),
    "never ends": (HEAD + DATA + UNCOUNTED, None),
    "told": (HEAD + DATA + TOLD, None),
    "fixed": (HEAD + DATA + FIXED, None),
    "hidden": (text_of("kernel/served-hidden"), None),
    "kept": (text_of("kernel/served-kept"), None),
}
"""Services, and their least budgets; None for none."""

Proof = tuple[Any, Any, list[Any]]


@cache
def proof_for(
    text: str, *users: str, budget: Fraction | None = None, eps: Fraction | None = None
) -> ServiceProof:
    return prove_service(service_of(text), budget, users, eps)


@cache
def written(proof: ServiceProof) -> Proof:
    own = proof.replay().proof
    assert isinstance(own, WrittenProof)
    return own.machine, own.claim, list(own.steps)
