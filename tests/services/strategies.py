"""Random small services."""

from hypothesis import strategies as st

_DATA = st.sampled_from(
    [
        "n <- d",
        "if n < 2 then n <- n + d end",
        "if n < 2 then n <- n + 1 end",
        "if left > 0 then n <- d end",
        "n <- d\nleft <- 2",
        "keep <- choose {1 : 1/2, 0 : 1/2}\nif keep = 1 then n <- d end",
        "n <- choose {d : 2/3, n : 1/3}",
    ]
)

_ANSWERS = st.sampled_from(
    [
        "reply <- clamp(DLap(n, 1 / eps), 0, 2)",
        "reply <- clamp(DLap(2 * n, 3 / eps), 0, 2)",
        "z <- DLap(n, 2 / eps)\nif z >= 1 then reply <- 1 else reply <- 0 end",
        "z <- Lap(n, 1 / eps)\nif z >= 1/2 then reply <- 1 else reply <- 0 end",
        "if n > 0 then b <- 1 else b <- 0 end\n"
        "reply <- choose {b : exp(eps)/(1 + exp(eps)), 1 - b : 1/(1 + exp(eps))}",
        "reply <- Exp(eps / 2, 1, n)",
        "reply <- clamp(DLap(n, 1 / eps), 0, 2)\nn <- 0",
        "z <- clamp(DLap(n, 1 / eps), 0, 1)\nreply <- z\nif z = 1 then n <- 0 end",
        "reply <- 0\nn <- 0",
        "reply <- left",
    ]
)

_ENDS = st.sampled_from(["left <- left - 1", "left <- 0", "skip", "left <- left - 1\nn <- 0"])


@st.composite
def services(draw: st.DrawFn) -> str:
    """A service with a counter, a budget and one or two queries; most are private."""
    change = draw(st.sampled_from(["insert", "replace"]))
    text = (
        f"adjacent {change}\nstate n in 0..2 <- 0\n"
        f"state left in 0..2 <- {draw(st.integers(1, 2))}\n"
        f"output reply in {{0, 1, 2, stop}}\non data d in {{0, 1}} do\n{draw(_DATA)}\nend\n"
    )
    for name in ("ask", "look")[: draw(st.integers(1, 2))]:
        text += (
            f"on query {name} do\nif left = 0 then reply <- stop else\n{draw(_ANSWERS)}\n"
            f"{draw(_ENDS)}\nend\nend\n"
        )
    return text


_COUNTED = [
    "if n < 3 then n <- n + 1 end",
    "if n < 3 then n <- n + 1; tot <- tot + d else n <- 0; tot <- 0 end",
    "if n >= 3 then n <- n - 1 else n <- n + 1 end",
    "if n = 2 then skip else n <- n + 1; tot <- tot + d end",
    "if d > 0 and n + d <= 3 then n <- n + d end",
    "if n < 3 then k <- choose {1 : 1/2, 0 : 1/2}\nif k = 1 then n <- n + 1 end end",
]
_MEANS = [
    "reply <- clamp(DLap(n, 1 / eps), 0, 3)",
    "reply <- clamp(DLap(tot, 2 / eps), -3, 3)",
    "reply <- clamp(DLap(n - m, 1 / eps), -3, 3)",
    "if n > 1 then reply <- clamp(DLap(1, 1 / eps), 0, 3) "
    "else reply <- clamp(DLap(0, 1 / eps), 0, 3) end",
]
_AFTER = ["left <- left - 1", "left <- left - 1\nn <- 0\ntot <- 0", "n <- 0\ntot <- 0", "m <- 3"]


@st.composite
def counting_services(draw: st.DrawFn) -> str:
    """A service with two counters, a sum and a budget; not all are private."""
    change = draw(st.sampled_from(["insert", "replace"]))
    domain = draw(st.sampled_from(["{0, 1}", "{-1, 1}", "0..2"]))
    text = (
        f"adjacent {change}\nstate n in 0..4 <- 0\nstate m in 0..3 <- 0\n"
        "state tot in int <- 0\nstate left in 0..2 <- 2\noutput reply in -3..9\n"
        f"on data d in {domain} do\n{draw(st.sampled_from(_COUNTED))}\nend\n"
    )
    queries = st.tuples(st.sampled_from(_MEANS), st.sampled_from(_AFTER))
    for number, (answer, end) in enumerate(draw(st.lists(queries, min_size=1, max_size=2))):
        begin = f"on query ask{number} do\nif left = 0 then reply <- 9 else\n"
        text += f"{begin}{answer}\n{end}\nend\nend\n"
    return text
