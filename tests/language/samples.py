"""Programs that the tests of the language share."""

from fractions import Fraction

from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from tests.texts import text_of

MIN_MAX = """\
param N = 3
param k = 2
input q[N] in {0, 1}
output out[N] in {NONE, READ, BOT, TOP}
adjacent { (0,0,0) ~ (0,0,1); (1,1,1) ~ (0,1,1) }
for i in 1..N do out[i] <- NONE end
min, max <- Gauss(q[1], 4*k/eps)
out[1] <- READ
for i in 2..k do
    r <- Gauss(q[i], 4*k/eps)
    if r > max and r > min then max <- r
    elif r < min and r < max then min <- r
    end
    out[i] <- READ
end
for i in k+1..N do
    r <- Gauss(q[i], 4/eps)
    if min <= r < max then out[i] <- BOT
    elif not (r < min) then out[i] <- TOP; exit
    else out[i] <- BOT; exit
    end
end
"""

CHOICES = """\
param N = 2
input q[N] in bool
input score[N] in -1..1
output out[N] in bool
output best in {1, 2, none}
output cell in {-1, 0, 1}
adjacent l0 1
for i in 1..N do
    out[i] <- choose {q[i] : exp(eps)/(1 + exp(eps)), not q[i] : 1/(1 + exp(eps))}
end
best <- Exp(eps/4, score)
again <- choose {true : (1 - eps^2)/2, false : (1 + eps^2)/2}
while again and best != none do
    best <- choose {1 : 1/3, 2 : 1/3, none : 1/3}
    again <- best = 1
end
z <- DLap(score[1] - score[2], 2/eps)
r <- LapPlus(score[1], 1/eps)
s <- LapMinus(score[2], eps)
if z >= 1/2 and r < s + 2^-1 then
    cell <- disc(max(r, s); -1 < 0 < 1)
else
    cell <- disc(z; -1 < 0 < 1)
end
"""

SAMPLES = [*(text_of(name) for name in ("svt_gauss", "noisy_max_laplace")), MIN_MAX, CHOICES]

HEADER = "input q[2] in {0, 1}\noutput out in {0, 1}\n"


def core_of(text: str, name: str = "sample", **parameters: int | Fraction) -> core.Program:
    values = {key: Fraction(value) for key, value in parameters.items()}
    return elaborate(parse(text, "f.dpg"), values, name)
