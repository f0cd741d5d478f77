"""Services as text: what is read, and what is wrong with what is not."""

from __future__ import annotations

import pytest

from dipapprox.errors import SourceError
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.language.services import elaborate_service

PINQ = """\
param t = 2
state cur in 1..t <- 1
state n[t] in 0..2 <- 0
state total[t] in int <- 0
output reply in -400..400
adjacent replace
on data d in -100..100 do
    if n[cur] < 2 then n[cur] <- n[cur] + 1; total[cur] <- total[cur] + d end
end
on query sum(w in {1, 2}) seen by alice, bob do
    z <- DLap(total[1] + w * total[2], 200 / eps)
    reply <- clamp(z, -400, 400)
    total[cur] <- 0
end
"""


CELLS = "state n in 0..2 <- 0\nstate s in int <- 0\noutput reply in 0..2\n"
DATA = "on data d in 0..1 do s <- s + d end\n"
QUERY = "on query q do reply <- 0 end\n"

WRONG = {
    CELLS + DATA: "3:1: name error: no handler of a query".replace("3:1", "4:1"),
    CELLS + QUERY: "4:1: name error: no handler of data calls",
    CELLS + DATA + DATA + QUERY: "5:1: name error: data calls have two handlers",
    CELLS + DATA + QUERY + QUERY: "6:1: name error: query 'q' has two handlers",
    CELLS + DATA + "on query q do n <- 1 end": "5:1: type error: query 'q' has no reply",
    CELLS + DATA + "on query data do reply <- 0 end": "5:1: name error: 'data' is the name",
    CELLS + DATA + "on query q do reply <- 3 end": "3 is not in the domain of output 'reply'",
    CELLS + DATA + "on query q do n <- 3; reply <- 0 end": "3 is not in the domain of state cell",
    CELLS + DATA + "on query q do if s > 0 then reply <- 0 end end": "decides what is done",
    CELLS + DATA + "on query q do r <- s\nif r > 0 then reply <- 0 end end": "decides what",
    CELLS + DATA + "on query q do reply <- s end": "published without noise",
    CELLS + DATA + "on query q do n <- s; reply <- 0 end": "the finite cell 'n' gets",
    CELLS
    + DATA
    + "on query q do z <- DLap(s, 1/eps)\nif z > 0 then reply <- 0 end end": "only be published",
    CELLS + "on data d in 0..1 do reply <- d end\n" + QUERY: "data calls have no reply",
    CELLS + "on data d in int do skip end\n" + QUERY: "'d' has no bounds",
    CELLS + DATA + QUERY + "n <- 1": "a statement outside the handlers",
    "input x in 0..1\n" + CELLS + DATA + QUERY: "1:1: syntax error: a service has no inputs",
    CELLS + "adjacent linf 1\n" + DATA + QUERY: "unknown adjacency 'linf' of a service",
    CELLS + "adjacent inset\n" + DATA + QUERY: "did you mean 'insert'?",
    CELLS + "adjacent { (0) ~ (1) }\n" + DATA + QUERY: "services have no pairs",
    "state n in 0..2 <- 3\noutput reply in 0..2\n" + DATA.replace("s", "n") + QUERY: "3 is not in",
    "state n in 0..2\noutput reply in 0..2\n" + DATA + QUERY: "needs the value that it begins with",
    "state x in real <- 0\n" + CELLS + DATA + QUERY: "state cells hold no reals",
    "state x in integer <- 0\n" + CELLS + DATA + QUERY: "'integer' is no domain",
    CELLS + DATA + "on querry q do reply <- 0 end": "did you mean 'query'?",
    CELLS + DATA + "on query q sen by a do reply <- 0 end": "did you mean 'seen'?",
    CELLS + DATA + "on query q\nreply <- 0 end": "missing 'do'",
    CELLS + DATA + "on query q do on query r do reply <- 0 end end": "'on' inside a block",
    CELLS + DATA + "on query q do reply <- clamp(DLap(0, 1/eps), 2, 0) end": "nothing is there",
    CELLS
    + DATA
    + "on query q do reply <- clamp(Lap(0, 1/eps), 0, 2) end": "is finite, but a real is assigned",
    CELLS
    + DATA
    + "on query q do reply <- clamp(DLap(0, 1/eps), 0, 3) end": "3 is not in the domain",
    CELLS + DATA + "on query q do reply <- DLap(0, 1/eps) end": "output 'reply' is finite",
    CELLS + DATA + "on query q do reply <- nobody end": "unknown name 'nobody'",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said_with_its_place(text: str) -> None:
    with pytest.raises(SourceError) as error:
        elaborate_service(parse(text, "f.dpg"), {}, "f")
    assert WRONG[text] in str(error.value)


def test_other_commands_say_which_one_takes_services() -> None:
    with pytest.raises(SourceError, match="'prove' answers for services"):
        elaborate(parse(PINQ), {}, "pinq")


def test_domains_without_bounds_are_for_services() -> None:
    with pytest.raises(SourceError, match="'int' is the domain of state cells"):
        elaborate(parse("input q in int\noutput out in 0..1\nout <- 0"), {}, "f")
