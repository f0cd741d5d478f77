"""Programs that the tests of the language share."""

from fractions import Fraction

from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from tests.cases import text_of

SAMPLES = [
    *(text_of(name) for name in ("svt_gauss", "noisy_max_laplace")),
    text_of("language/samples-min_max"),
    text_of("language/samples-choices"),
]

HEADER = "input q[2] in {0, 1}\noutput out in {0, 1}\n"


def core_of(text: str, name: str = "sample", **parameters: int | Fraction) -> core.Program:
    values = {key: Fraction(value) for key, value in parameters.items()}
    return elaborate(parse(text, "f.dpg"), values, name)
