"""What is refused by its name, and what to write instead: one table of each."""

from __future__ import annotations

import ast
import re

from dipapprox.errors import did_you_mean

_YIELDS = "'yield' is followed as a statement, and in none but 'if', 'for' and 'while'"
_ASYNC = "the mechanism is async: it must return when it is called"
NO_RULE: dict[type[ast.AST], str] = {
    **dict.fromkeys((ast.Yield, ast.YieldFrom), _YIELDS),
    **dict.fromkeys((ast.Await, ast.AsyncFunctionDef), _ASYNC),
    ast.Global: "the mechanism assigns what is outside itself: only what it returns is published",
    ast.With: "'with' is not followed in a mechanism: try: … finally: …",
}
"""Nodes that no rule knows."""

_GAUSS = "dipapprox.gauss(mean, standard_deviation) draws Gaussian noise"
_LAPLACE = "dipapprox.laplace(mean, scale) draws Laplace noise"
_CHOOSE = 'choices are drawn with dipapprox.choose: choose(range(6)), choose({"a": p, "b": 1 - p})'
_SCALED = "for scales: laplace(q, log(3) / eps)"

_INSTEAD = {
    "normal normalvariate standard_normal randn gaussian Gauss Gaussian norm gauss": _GAUSS,
    "laplace Lap Laplace DLap": _LAPLACE,
    "discrete_laplace geometric two_sided_geometric": (
        "dipapprox.discrete_laplace(mean, scale) draws the two-sided geometric distribution"
    ),
    "exponential expovariate standard_exponential LapPlus": (
        "dipapprox.laplace_plus(0, scale) draws exponential noise"
    ),
    "choice choices bernoulli binomial randint randrange integers uniform random getrandbits": (
        _CHOOSE
    ),
    "rand random_sample sample shuffle permutation randbelow multinomial": _CHOOSE,
    "gumbel": (
        "dipapprox.gumbel(mode, scale) draws Gumbel noise; the place of the largest score with "
        "noise of scale b is dipapprox.exponential_mechanism(1 / b, scores)"
    ),
    "standard_t student_t cauchy standard_cauchy": (
        "there is no such noise: its probabilities have no enclosures here"
    ),
    "log ln": f"dipapprox.log(x) is the natural logarithm, {_SCALED}",
    "log2 log10 log1p": f"log(x) / log(2) of dipapprox.log, {_SCALED}",
    "sqrt": f"dipapprox.sqrt(x) is the root, {_SCALED.replace('log(3)', 'sqrt(2)')}",
    "exp expm1": "dipapprox.exp(x) stands in the probabilities of choose",
    "round floor ceil trunc rint int around": (
        "dipapprox.rounded(x, low, high, step=1) is the nearest multiple, of noise too"
    ),
    "clip": "dipapprox.clamp(x, low, high) is the nearest number in between",
    "where": "dipapprox.where(condition, a, b) is a or b",
    "mean fmean average": "the mean of n numbers is sum(values) / n",
    "fabs": "abs(x) is known",
    "format": 'f-strings are followed: f"{x} of {n}"',
    "sign copysign": "compare with 0",
    "float": "numbers are exact: leave float(…) out",
    "Decimal Fraction": "inputs and samples are exact numbers already",
    "Counter defaultdict OrderedDict": "a dictionary does: d[x] = d.get(x, 0) + 1",
    "deque": "a list does: v.append(x), v.pop(0)",
    "lru_cache cache cached_property": "leave it out: what is drawn is drawn again",
    "suppress": "try: … except …: pass",
    "type": "isinstance(x, int) of what is known",
    "tee merge": "lists do: a loop over them",
    "array asarray": "lists do: [x, y], [x + y for x, y in zip(v, w)]",
    "zeros ones full empty": "lists do: [0] * n",
    "arange": "range(n) does",
    "dot inner": "sum(x * y for x, y in zip(v, w))",
    "unique": "sorted(set(v)) does",
    "maximum minimum": "max(a, b) of two, dipapprox.maximum(values) without a path for each",
    "print": "leave print(…) out",
}
INSTEAD = {name: hint for names, hint in _INSTEAD.items() for name in names.split()}
"""What dipapprox has in the place of functions that people write first, by their names."""

_CONVERSIONS = frozenset(["round", "int", "float", "Decimal", "Fraction"])
"""These convert numbers that are known, and samples by mistake."""

OWN = (
    *("gauss", "laplace", "laplace_plus", "laplace_minus", "logistic", "gumbel", "gumbel_minus"),
    *("discrete_laplace", "discrete_gauss", "choose", "exponential_mechanism", "argmax", "argmin"),
    *("maximum", "minimum", "where", "exp", "sqrt", "log", "clamp", "rounded"),
)
"""What mechanisms compute with."""

_TELLS = "tells what is known of a number"
_CODE = "code and names that are made while it runs are not followed"
_NOT = "this is not followed in a mechanism"
REFUSED = {
    "print": "the function prints: only what it returns is published",
    "input": "the function reads: it depends on its arguments and draws alone",
    "open": "the function reads or writes files: only what it returns is published",
    **{name: f"'{name}' {_TELLS}" for name in ("type", "hasattr", "getattr", "id")},
    "setattr": "'setattr' is not followed: write a.b = c",
    "__debug__": "whether Python was started with -O is not known",
    "hash": "a hash is another number in each process",
    "frozenset": "frozen sets are not followed: tuples and sets are",
    **dict.fromkeys(("eval", "exec", "compile", "globals", "locals", "vars", "dir"), _CODE),
    **dict.fromkeys(("bytes", "bytearray", "complex", "callable", "repr", "format"), _NOT),
    **dict.fromkeys(("ascii", "aiter", "anext", "issubclass", "delattr", "hex"), _NOT),
    **dict.fromkeys(("oct", "breakpoint", "__import__", "memoryview", "slice"), _NOT),
}
"""Python's own functions that are not followed."""

DRAWN = ("random", "secrets", "numpy.random", "os.urandom", "uuid", "numpy.default_rng")
"""Other sources of randomness."""

_CALL = re.compile(r"((?:\b\w+\.)*)\b(\w+)\(")


def of_unknown(name: str) -> str:
    """Say what a name may mean that nothing has; empty if nobody knows."""
    return INSTEAD.get(name) or did_you_mean(name, OWN)


def hint_for(text: str) -> str:
    """Say what dipapprox has in the place of a function that a text calls; empty if nothing."""
    for call in _CALL.finditer(text):
        module, name = call.groups()
        if module in ("", "dipapprox.", "dp.") and name in OWN:
            continue
        if name in INSTEAD and (name not in _CONVERSIONS or call.start() == 0):
            return INSTEAD[name]
    return ""


def unknown(name: str, otherwise: str) -> tuple[str, str, str]:
    """Say why something that is imported or built in is not followed: message, hint and kind;
    `otherwise` is what to write where no table says more."""
    module, _, short = name.rpartition(".")
    hint = INSTEAD.get(short) or (f"dipapprox.{short} does" if short in OWN else "")
    if any(name == each or name.startswith(f"{each}.") for each in DRAWN):
        draw = hint or "draw with dipapprox: gauss, laplace, choose, …"
        return f"'{name}' is another source of randomness", draw, "error"
    if module == "builtins":
        return REFUSED.get(short, _NOT), hint, "type error"
    if module == "dipapprox":
        message = f"'dipapprox' has no function '{short}' that stands in mechanisms"
        return message, of_unknown(short), "type error"
    what = hint or otherwise or "write a function of your own in this file or in one beside it"
    return f"'{name}' is not among the functions that are followed", what, "type error"


def exact_form(node: ast.AST, divides: bool, above: object, below: object) -> str:
    """Say how a quotient or power of whole numbers is written: in the words of `node`, if these are
    the user's."""
    match node:
        case ast.BinOp(left, _, right):
            above, below = ast.unparse(left), ast.unparse(right)
        case ast.AugAssign(target, _, value):
            above, below = ast.unparse(target), ast.unparse(value)
    return (
        f"write Fraction({above}, {below})" if divides else f"write Fraction({above}) ** ({below})"
    )
