"""Services with known budgets, and their proofs."""

from fractions import Fraction
from functools import cache
from typing import Any

from dipapprox import Limits
from dipapprox.services.service_proof import ServiceProof, prove_service
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
REAL = """
state left in 0..1 <- 1
state total in int <- 0
output reply in real
output over in bool
on data d in -3..3 do total <- total + d end
on query ask do
    over <- left = 0
    if over then exit end
    left <- 0
    reply <- Lap(total, 2 / eps)
end
"""
THROWN = """
state n in 0..1 <- 0
state coin in 0..1 <- 0
output reply in -5..5
on data d in {0, 1} do n <- d end
on query ask do
    coin <- choose {0 : 1/2, 1 : 1/2}
    reply <- clamp(DLap(n + coin, 1 / eps), -5, 5)
    coin <- 0
    n <- 0
end
"""
KEPT = """
state n in 0..2 <- 0
state coin in 0..2 <- 2
output reply in -5..5
on data d in {0, 1} do if n < 2 then n <- n + d end end
on query ask do
    if coin = 2 then coin <- choose {0 : 1/2, 1 : 1/2} end
    reply <- clamp(DLap(n + coin, 1 / eps), -5, 5)
end
"""
HIDDEN = """
adjacent replace
state n in 0..1 <- 0
output reply in {0, 1}
on data d in {0, 1} do
    keep <- choose {1 : 1/2, 0 : 1/2}
    if keep = 1 then n <- d end
end
on query ask do reply <- clamp(DLap(n, 1 / eps), 0, 1) end
"""

EXAMPLES: dict[str, tuple[str, Fraction | None]] = {
    "counted": (HEAD + DATA + ONCE, Fraction(1)),
    "replaced": ("adjacent replace\n" + HEAD + DATA + ONCE, Fraction(1)),
    "coin": (HEAD + COIN + ONCE, Fraction(1)),
    "chosen": (HEAD + DATA + CHOSEN, Fraction(1)),
    "decided": (HEAD + DATA + DECIDED, Fraction(1, 2)),
    "real": (REAL, Fraction(3, 2)),
    "real replaced": ("adjacent replace\n" + REAL, Fraction(3)),
    "slots": (slots("int"), Fraction(2)),
    "thrown": (THROWN, Fraction(1)),
    "never ends": (HEAD + DATA + UNCOUNTED, None),
    "told": (HEAD + DATA + TOLD, None),
    "fixed": (HEAD + DATA + FIXED, None),
    "hidden": (HIDDEN, None),
    "kept": (KEPT, None),
}
"""Services, and their least budgets; None for none."""

Proof = tuple[Any, Any, list[Any]]


@cache
def proof_for(
    text: str, *users: str, budget: Fraction | None = None, eps: Fraction | None = None
) -> ServiceProof:
    return prove_service(service_of(text), budget, users, Limits(), eps)


@cache
def written(proof: ServiceProof) -> Proof:
    own, _ = proof.replay(Limits())
    return own.machine, own.claim, list(own.steps)
