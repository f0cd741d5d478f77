"""What dipapprox has in the place of functions that people write first: hints."""

from __future__ import annotations

import re

from dipapprox.errors import did_you_mean

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


def of_name(name: str) -> str:
    """Say what dipapprox has in the place of a function of another module; empty if nothing."""
    return _BY_NAME.get(name, "")


def of_unknown(name: str) -> str:
    """Say what a name may mean that nothing has; empty if nobody knows."""
    return _BY_NAME.get(name) or did_you_mean(name, _SIGNATURES)


def of_call(name: str) -> str:
    """Say how one of our functions is called; empty if it is none."""
    return f"it is called {name}{_SIGNATURES[name]}" if name in _SIGNATURES else ""


def hint_for(text: str) -> str:
    """Say what dipapprox has in the place of a function that a text calls; empty if nothing."""
    for call in _CALL.finditer(text):
        module, name = call.groups()
        if module in ("", "dipapprox.", "dp.") and name in _SIGNATURES:
            continue
        if name in _BY_NAME and (name not in _CONVERSIONS or call.start() == 0):
            return _BY_NAME[name]
    return ""
