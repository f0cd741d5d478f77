"""Services for tests."""

from collections.abc import Mapping
from fractions import Fraction

from dipapprox.language.parser import parse
from dipapprox.language.services import Service, elaborate_service
from dipapprox.services.service_proof import ServiceProof, prove_service
from tests.cases import text_of


def service_of(text: str, parameters: Mapping[str, int] | None = None) -> Service:
    values = {name: Fraction(value) for name, value in (parameters or {}).items()}
    return elaborate_service(parse(text, "f.dpg"), values, "f")


def proof_of(text: str, *users: str, **parameters: int) -> ServiceProof:
    """Prove what there is to prove of a service."""
    return prove_service(service_of(text, parameters), None, users)


def slots(kind: str, queries: str = "sum, count", pool: bool = False) -> str:
    """The query server of the paper with D = {-1, 1}; its totals are of a kind, int or finite."""
    full = "n[cur] < v" if not pool else "held < v"
    held = "held <- 0\nfor i in 1..t do held <- held + n[i] end\n" if pool else ""
    text = f"""
param t = 1
param v = 1
state cur in 1..t <- 1
state n[t] in 0..v <- 0
state total[t] in {kind} <- 0
output reply in -t*v..t*v
on data d in {{-1, 1}} do
    {held}
    if {full} then n[cur] <- n[cur] + 1; total[cur] <- total[cur] + d end
end
"""
    for query in queries.split(", "):
        cells, low = ("total", "-t*v") if query == "sum" else ("n", "0")
        text += f"""
on query {query} do
    s <- 0
    for i in 1..t do s <- s + {cells}[i] end
    reply <- clamp(DLap(s, 1 / eps), {low}, t*v)
    if cur = t then cur <- 1 else cur <- cur + 1 end
    n[cur] <- 0; total[cur] <- 0
end
"""
    return text


HEAD = "state n in 0..1 <- 0\nstate done in bool <- false\noutput reply in {0, 1, stop}\n"
DATA = "on data d in {0, 1} do n <- d end\n"
COIN = (
    "on data d in {0, 1} do\nkeep <- choose {1 : 1/2, 0 : 1/2}\nif keep = 1 then n <- d end\nend\n"
)
ONCE = text_of("services/examples-once")
