"""Small programs for intervals of eps: every way in which eps can enter a probability."""

from fractions import Fraction

import dipapprox
from dipapprox.language.core import Program

HEAD = """
input q[2] in {0, 1}
output out in {0, 1, 2}
adjacent all
out <- 0
"""

BODIES = {
    "gaussian": """
        x <- Gauss(q[1], 2 / eps)
        y <- Gauss(q[2], 1 / eps)
        if x < y then out <- 1 end
    """,
    "laplace": """
        x <- Lap(q[1], 2 / eps)
        y <- Lap(q[2], 1 / eps)
        if x < y then out <- 1 end
    """,
    "mixed": """
        x <- Gauss(q[1], 2 / eps)
        y <- Lap(q[2], 1 / eps)
        z <- Lap(1, 3 / eps)
        if x < y then out <- 1 elif z < x then out <- 2 end
    """,
    "threshold": """
        x <- Gauss(q[1], 1 / eps)
        y <- Lap(q[2], 1 / eps)
        if x >= 2 then out <- 1 elif y < x then out <- 2 end
    """,
    "range": """
        x <- Gauss(q[1], 1 / eps)
        y <- Lap(q[2], 2 / eps)
        if 0 <= x < 1 then out <- 1 elif y < x then out <- 2 end
    """,
    "spike": """
        y <- Lap(q[2], 1 / eps)
        if 0.999 <= y < 1.001 then out <- 1 end
    """,
    "fixed scale": """
        x <- Gauss(q[1], 1)
        y <- Lap(q[2], 2 / eps)
        if y < x then out <- 1 elif x < 1 then out <- 2 end
    """,
    "inputs in guards": """
        x <- Gauss(0, 1 / eps)
        y <- Lap(0, 2 / eps)
        if x + q[1] <= 2 * y then out <- 1 elif x >= q[2] then out <- 2 end
    """,
    "inputs decide": """
        x <- Gauss(q[1], 1 / eps)
        if q[2] = 1 then out <- 2 elif x < 0 then out <- 1 end
    """,
    "one-sided": """
        x <- LapPlus(q[1], 2 / eps)
        y <- LapPlus(q[2], 1 / eps)
        if x < y then out <- 1 elif x >= 3 then out <- 2 end
    """,
    "one-sided and others": """
        x <- LapMinus(q[1], 1 / eps)
        y <- Gauss(q[2], 1 / eps)
        z <- Lap(1, 2 / eps)
        if x < y then out <- 1 elif z < y then out <- 2 end
    """,
    "constant choices": """
        x <- Gauss(q[1], 2 / eps)
        y <- Lap(q[2], 1 / eps)
        b <- choose {0 : 1/3, 1 : 2/3}
        if q[2] = 1 then b <- choose {0 : 1/5, 1 : 4/5} end
        if x < y and b = 1 then out <- 1 elif y < 1 then out <- 2 end
    """,
    "sums": """
        x <- Lap(q[1], 1 / eps)
        y <- Lap(q[2], 1 / eps)
        z <- Gauss(0, 1 / eps)
        if x + y < 2 * z + 1 then out <- 1 end
    """,
}

ROWS = [(Fraction(a), Fraction(b)) for a in (0, 1) for b in (0, 1)]


def program(name: str) -> Program:
    return dipapprox.parse(HEAD + BODIES[name], name=name)
