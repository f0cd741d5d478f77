"""Errors about choices, loops, discretisations, integer samples and Booleans, as people see them.

Golden text: `DIPAPPROX_GOLDEN=write pytest …` refreshes it.
"""

from __future__ import annotations

import pytest

from dipapprox.errors import SourceError
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from tests.cli.test_reports import check_golden

HEADER = """\
input q[2] in {0, 1}
input h in {0, 1/2}
input b in bool
output out in {0, 1}
output flag in bool
"""

WRONG = {
    "choices": [
        "out <- choose {0 : 1/2, 1}",
        "out <- choose 1",
        "out <- choose {0 : 1/2, 2 : 1/2}",
        "out <- choose {0 : exp(1), 1 : 1}",
        "out <- choose {0 : exp(eps^2), 1 : 1}",
        "out <- choose {0 : exp(exp(eps)), 1 : 1}",
        "out <- choose {0 : exp(eps, 1), 1 : 1}",
        "out <- choose {0 : 1/0, 1 : 1}",
        "out <- choose {0 : 0^-1, 1 : 1}",
        "x <- choose {Lap(0, 1) : h, 1 : 1 - h}",
        "out <- choose {0 : Lap(0, 1), 1 : 1/2}",
        "out <- choose {0 : q[1] = 1, 1 : 1/2}",
        "out <- exp(1)",
        "out <- Exp(eps)",
        "out <- Exp(2, q)",
        "out <- Exp(-eps, q)",
        "out <- Exp(eps, Lap(0, 1), 1)",
        "v[1] <- b\nout <- Exp(eps, v)",
        "out <- 2^3^4",
        "out <- 2^1000",
        "out <- 2^(1/2)",
        "out <- ((q[1]^100)^100)^100",
        "out <- choose {0 : ((1 + eps)^10)^100, 1 : 1}",
        "out <- q[1]^-1",
        "r <- Lap(0, 1)\ns <- r^2",
    ],
    "loops": [
        "while out = 1 do r <- Lap(0, 1/eps) end",
        "r <- Lap(0, 1/eps)\nwhile r < 0 do\nr <- r + 1\nend",
        "r <- Lap(0, 1/eps)\nr <- 0\nwhile q[1] = 1 do\nr <- 0\nend",
        "v[1] <- Lap(0, 1/eps)\nwhile out = 0 do out <- argmax(v) end",
        "while out = 0 do if Lap(0, 1) < 0 then out <- 1 end end",
        "while choose {true : 1/2, false : 1/2} do skip end",
        "while q[1] = 1\nend",
        "while q[1] = 1 then end",
        "while true do out <- 1",
        "whle q[1] = 1 do\nout <- 1\nend",
        "repeat out <- 1 until true",
        "while <- 1",
        "choose <- 1",
        "bool <- 1",
    ],
    "discretisations": [
        "out <- disc(q[1]; 1 < 0)",
        "out <- disc(q[1]; 0 < 0)",
        "out <- disc(q[1]; 0)",
        "out <- disc(q[1]; 0 <= 1)",
        "out <- disc(q[1], 0, 1)",
        "out <- disc(q[1]; 0 < q[2])",
        "out <- disc(q[1]; 0 < 1 < 2)",
        "out <- disc(b; 0 < 1)",
        "out <- argmax(q[1]; 0 < 1)",
        "out <- disc(q[1]; " + " < ".join(str(i) for i in range(101)) + ")",
    ],
    "integer samples": [
        "z <- DLap(1/2, 1/eps)",
        "z <- DLap(q[1]/2, 1/eps)",
        "z <- DLap(h, 1/eps)",
        "x <- 0\nfor i in 1..2 do x <- x + h end\nz <- DLap(x, 1/eps)",
        "x <- choose {1/2 : 1/2, 1 : 1/2}\nz <- DLap(x, 1/eps)",
        "z <- DLap(0, 1/eps)\nw <- z/2",
        "z <- DLap(0, 1/eps)\nw <- z + h",
        "z <- DLap(0, 1/eps)\nif 2 * q[1] > z/2 + 1 then out <- 1 end",
        "z <- DLap(0, 1/eps)\nout <- z",
        "z <- DLap(0, 1/eps)\nw <- z * z",
        "z <- DLap(0, 1/eps)\nr <- Lap(0, 1)\nif z < r then out <- 1 end",
        "z <- DLap(0, 1/eps)\nr <- Lap(0, 1)\ns <- r + z",
        "v[1] <- DLap(0, 1/eps)\nv[2] <- Lap(0, 1)",
        "x <- max(DLap(0, 1/eps), Lap(0, 1/eps))",
    ],
    "Booleans": [
        "flag <- 1",
        "flag <- q[1]",
        "flag <- choose {true : 1/2, 0 : 1/2}",
        "if b = 1 then out <- 1 end",
        "if b = (q[1] = 1) then out <- 1 end",
        "if b < true then out <- 1 end",
        "out <- 1 + b",
        "out <- q[b]",
        "out <- max(b, 1)",
        "if q[1] = 1: out <- 1 end",
    ],
}


@pytest.mark.parametrize("topic", WRONG)
def test_errors_are_as_in_the_golden_text(topic: str) -> None:
    shown = []
    for text in WRONG[topic]:
        with pytest.raises(SourceError) as caught:
            elaborate(parse(HEADER + text, "f.dpg"), {}, "wrong")
        shown.append(caught.value.render())
    check_golden(f"errors_{topic.lower().replace(' ', '_')}", "\n\n".join(shown) + "\n")
