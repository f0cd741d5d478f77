"""What dipapprox has in the place of functions that people write first: hints.

In: an error at a place of a Python function. Out: the same error, with a hint that names the
function of dipapprox where the place calls another one: math.log, np.random.normal, random.choice.
"""

from __future__ import annotations

import re

from dipapprox.data_classes import replace
from dipapprox.errors import SourceError, did_you_mean
from dipapprox.source import Diagnostic

_GAUSS = "dipapprox.gauss(mean, standard_deviation) draws Gaussian noise"
_LAPLACE = "dipapprox.laplace(mean, scale) draws Laplace noise"
_ONE_SIDED = "dipapprox.laplace_plus(0, scale) draws exponential noise"
_INTEGERS = "dipapprox.discrete_laplace(mean, scale) draws the two-sided geometric distribution"
_CHOOSE = 'choices are drawn with dipapprox.choose: choose(range(6)), choose({"a": p, "b": 1 - p})'
_SCALED = "for scales: laplace(q, log(3) / eps)"
_MULTIPLE = "dipapprox.rounded(x, low, high, step=1) is the nearest multiple, of noise too"
_GUMBEL = (
    "dipapprox.gumbel(mode, scale) draws Gumbel noise; the place of the largest score with noise "
    "of scale b is dipapprox.exponential_mechanism(1 / b, scores)"
)
_HEAVY = "there is no such noise: its probabilities have no enclosures here"

_HINTS = {
    "normal normalvariate standard_normal randn gaussian Gauss Gaussian norm": _GAUSS,
    "gauss": _GAUSS,
    "laplace Lap Laplace DLap": _LAPLACE,
    "discrete_laplace geometric two_sided_geometric": _INTEGERS,
    "exponential expovariate standard_exponential LapPlus": _ONE_SIDED,
    "choice choices bernoulli binomial randint randrange integers uniform random getrandbits": (
        _CHOOSE
    ),
    "rand random_sample sample shuffle permutation randbelow multinomial": _CHOOSE,
    "gumbel": _GUMBEL,
    "standard_t student_t cauchy standard_cauchy": _HEAVY,
    "log ln": f"dipapprox.log(x) is the natural logarithm, {_SCALED}",
    "log2 log10 log1p": f"log(x) / log(2) of dipapprox.log, {_SCALED}",
    "sqrt": f"dipapprox.sqrt(x) is the root, {_SCALED.replace('log(3)', 'sqrt(2)')}",
    "exp expm1": "dipapprox.exp(x) stands in the probabilities of choose",
    "round floor ceil trunc rint int around": _MULTIPLE,
    "clip": "dipapprox.clamp(x, low, high) is the nearest number in between",
    "where": "dipapprox.where(condition, a, b) is a or b",
    "mean fmean average": "the mean of n numbers is sum(values) / n",
    "fabs": "abs(x) is known",
    "sign copysign": "compare with 0",
    "float": "numbers are exact: leave float(…) out",
    "Decimal Fraction": "inputs and samples are exact numbers already",
}
_BY_NAME = {name: hint for names, hint in _HINTS.items() for name in names.split()}

_DRAWS = frozenset(["gauss", "gumbel", "laplace", "discrete_laplace", "where"])
"""Without the name of a module before them, these are dipapprox's."""

_WEIGHTS = frozenset(["log", "sqrt", "exp"])
"""These may be of the module math: then floats come out."""

_CONVERSIONS = frozenset(["round", "int", "float", "Decimal", "Fraction"])
"""These convert numbers that are known, and samples by mistake."""

_SIGNATURES = {
    **dict.fromkeys(["laplace", "logistic", "discrete_laplace"], "(mean, scale)"),
    **dict.fromkeys(["gauss", "discrete_gauss"], "(mean, deviation)"),
    **dict.fromkeys(["laplace_plus", "laplace_minus"], "(start, scale)"),
    **dict.fromkeys(["gumbel", "gumbel_minus"], "(mode, scale)"),
    "choose": "(values, probabilities)",
    "exponential_mechanism": "(rate, scores)",
    "clamp": "(value, low, high)",
    "rounded": "(value, low, high, step=1)",
    "where": "(condition, yes, no)",
    **dict.fromkeys(["argmax", "argmin", "maximum", "minimum"], "(values)"),
    **dict.fromkeys(["exp", "sqrt", "log"], "(x)"),
}
"""What mechanisms compute with, and how it is called."""

_CALL = re.compile(r"((?:\b\w+\.)*)\b(\w+)\(")
_FLOAT = re.compile(r"\d\.\d|\de-|\d\s*/\s*\d")
_CONVERTED = re.compile("no value to compute with|conversion|asked for its type|is no float")
_MISCALLED = re.compile(r"TypeError: (\w+)\(\) (?:got|missing|takes)")
_UNKNOWN = re.compile(
    r"NameError: name '(\w+)'|'dipapprox' has no attribute '(\w+)'"
    r"|cannot import name '(\w+)' from 'dipapprox'"
)


def with_hints(error: SourceError) -> SourceError:
    """Return an error of a Python function, with hints for what its places call."""
    return SourceError(map(_with_hint, error.diagnostics))


def _with_hint(diagnostic: Diagnostic) -> Diagnostic:
    hint = ""
    if (unknown := _UNKNOWN.search(diagnostic.message)) is not None:
        name = unknown[1] or unknown[2] or unknown[3]
        hint = _BY_NAME.get(name) or did_you_mean(name, _SIGNATURES)
    elif (called := _MISCALLED.search(diagnostic.message)) is not None:
        if called[1] in _SIGNATURES:
            hint = f"it is called {called[1]}{_SIGNATURES[called[1]]}"
    elif diagnostic.span is not None:
        text = diagnostic.span.text
        floats = "float" in diagnostic.message and not _FLOAT.search(text)
        converted = _CONVERTED.search(diagnostic.message) is not None
        hint = hint_for(text, of_floats=floats, converted=converted)
    return replace(diagnostic, hint=hint) if hint else diagnostic


def hint_for(text: str, *, of_floats: bool, converted: bool) -> str:
    """Say what dipapprox has in the place of a function that a text calls; empty if nothing.

    Args:
        text: Of an expression.
        of_floats: Whether its functions return floats, as none of dipapprox does.
        converted: Whether it converts what cannot be.
    """
    for call in _CALL.finditer(text):
        module, name = call.groups()
        own = module in ("", "dipapprox.", "dp.")
        if own and (name in _DRAWS or (name in _WEIGHTS and not of_floats)):
            continue
        if name in _CONVERSIONS and not (converted and call.start() == 0):
            continue
        if name in _BY_NAME:
            return _BY_NAME[name]
    return ""
