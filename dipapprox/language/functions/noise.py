"""What mechanisms draw with: noise, random choices, and selections among samples.

Each is a statement of the program that the function becomes (docs/language.md has the laws), and
returns the drawn variable. Means and options may depend on inputs, scales on eps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any

from dipapprox.data_classes import replace
from dipapprox.language import ast
from dipapprox.language.constants import literal
from dipapprox.language.core import Value
from dipapprox.language.functions.run import PathRun, cell_name, kind_of_either
from dipapprox.language.functions.symbols import (
    Condition,
    Exact,
    Quantity,
    Weight,
    arithmetic,
    as_number,
    constant,
    exact,
    from_key,
    is_number,
    of_numpy,
    running,
    weight,
)
from dipapprox.language.piecewise import rounded as rounded_number
from dipapprox.language.piecewise import rounding_steps
from dipapprox.language.traversal import rewrite
from dipapprox.laws import families
from dipapprox.laws.family import Family

Mean = Quantity | Condition | Exact
Scale = Weight | Exact


def gauss(mean: Mean, deviation: Scale) -> Quantity:
    """Draw Gaussian noise; `deviation` is the standard deviation."""
    return _draw(families.GAUSSIAN, mean, deviation)


def laplace(mean: Mean, scale: Scale) -> Quantity:
    """Draw Laplace noise: density e^(-|x - mean| / scale) / (2 scale)."""
    return _draw(families.LAPLACE, mean, scale)


def laplace_plus(start: Mean, scale: Scale) -> Quantity:
    """Draw exponential noise above `start`: density e^(-(x - start) / scale) / scale."""
    return _draw(families.EXPONENTIAL, start, scale)


def laplace_minus(start: Mean, scale: Scale) -> Quantity:
    """Draw its mirror image, below `start`."""
    return _draw(families.REFLECTED_EXPONENTIAL, start, scale)


def logistic(mean: Mean, scale: Scale) -> Quantity:
    """Draw logistic noise: Pr[X <= x] = 1 / (1 + e^(-(x - mean) / scale))."""
    return _draw(families.LOGISTIC, mean, scale)


def gumbel(mode: Mean, scale: Scale) -> Quantity:
    """Draw Gumbel noise: Pr[X <= x] = e^(-e^(-(x - mode) / scale))."""
    return _draw(families.GUMBEL, mode, scale)


def gumbel_minus(mode: Mean, scale: Scale) -> Quantity:
    """Draw its mirror image: Pr[X >= x] = e^(-e^((x - mode) / scale))."""
    return _draw(families.REFLECTED_GUMBEL, mode, scale)


def discrete_laplace(mean: Mean, scale: Scale) -> Quantity:
    """Draw an integer, with probability proportional to e^(-|x - mean| / scale)."""
    return _draw(families.DISCRETE_LAPLACE, mean, scale)


def discrete_gauss(mean: Mean, deviation: Scale) -> Quantity:
    """Draw an integer, with probability proportional to e^(-(x - mean)^2 / (2 deviation^2))."""
    return _draw(families.DISCRETE_GAUSSIAN, mean, deviation)


def choose(
    options: Mapping[Any, Any] | Iterable[Any], probabilities: Iterable[Any] | None = None
) -> Any:
    """Draw one of finitely many values.

        choose({"heads": Fraction(1, 3), "tails": Fraction(2, 3)})
        choose([q, 1 - q], [exp(eps) / (1 + exp(eps)), 1 / (1 + exp(eps))])
        choose([(q, exp(eps) / (1 + exp(eps))), (1 - q, 1 / (1 + exp(eps)))])
        choose(range(6))                                                          uniformly

    Args:
        options: Values with probabilities, as a mapping or as pairs (value, probability); or values
            alone.
        probabilities: Of values alone; by default all are equally likely.
    """
    run = _path()
    pairs = _with_probabilities(options, probabilities)
    if not pairs:
        raise running().refusal("a choice needs at least one value", kind="value error")
    if any(isinstance(value, Weight) for value, _ in pairs):
        raise running().refusal("a value depends on eps", _PAIRED)
    weights = [weight(given, "a probability") for _, given in pairs]
    _check_probabilities(pairs, weights, isinstance(options, Mapping) or probabilities is not None)
    for value, _ in pairs:
        run.quantity(value, "a value")
    possible = [(v, w) for (v, _), w in zip(pairs, weights, strict=True) if w.known != 0]
    if len(possible) == 1 and possible[0][1].known == 1:
        return possible[0][0]
    values, finite = run.alike(value for value, _ in possible)
    options = zip(values, possible, strict=True)
    written = tuple(ast.Option(value.node, w.node) for value, (_, w) in options)
    call = ast.Choose(written, span=running().here)
    if None in finite:
        raise running().refusal("a choice among values that are not finitely many")
    found = run.drawn(call, "c", finite)
    return of_numpy(found, False, kind_of_either(*(value for value, _ in possible)))


_PAIRED = "pairs are (value, probability): choose([(0, Fraction(1, 3)), (1, Fraction(2, 3))])"


def _with_probabilities(
    options: Mapping[Any, Any] | Iterable[Any], probabilities: Iterable[Any] | None
) -> list[tuple[Any, Any]]:
    if isinstance(options, Mapping):
        if probabilities is not None:
            raise running().refusal("the mapping has probabilities already")
        return [(from_key(value), share) for value, share in options.items()]
    for given in (options, probabilities):
        if given is not None and not isinstance(given, Iterable):
            raise running().refusal(f"choose takes lists of values, not {type(given).__name__}")
    values = list(options)
    if probabilities is not None:
        given = list(probabilities)
        if len(given) != len(values):
            message = f"{len(values)} values have {len(given)} probabilities"
            raise running().refusal(message, kind="value error")
        return list(zip(values, given, strict=True))
    if all(isinstance(each, tuple) and len(each) == 2 for each in values):
        return values
    count = ast.Number(_ONE * len(values))
    share = ast.Product((ast.Number(_ONE), count), ("/",))
    return [(each, Weight(share)) for each in values]


def _check_probabilities(
    pairs: list[tuple[Any, Any]], weights: list[Weight], told_apart: bool
) -> None:
    """Refuse numbers that are no probabilities, and pairs (value, probability) that stand the other
    way round, unless they are `told_apart`."""
    shares = [each.known for each in weights if each.known is not None]
    if len(shares) < len(weights):
        return  # they depend on eps or inputs: the program is checked
    values = [value for value, _ in pairs]
    others = [exact(each, "a value") for each in values if is_number(each)]
    mirrored = (
        not told_apart and len(others) == len(values) > 1 and sum(others) == 1 and min(others) >= 0
    )
    if sum(shares) != 1 or min(shares) < 0:
        message = f"the probabilities add up to {sum(shares)}, and not to 1"
        if min(shares) < 0:
            message = f"the probability {min(shares)} is negative"
        raise running().refusal(message, _PAIRED if mirrored else "", kind="value error")
    if mirrored and set(shares) <= {0, 1} and not set(others) <= {0, 1}:
        message = "the probabilities are 0 and 1, but the values look like probabilities"
        raise running().refusal(message, _PAIRED, kind="value error")


def exponential_mechanism(rate: Scale, scores: Iterable[Mean]) -> Quantity:
    """Draw a position i, from 0, with probability proportional to e^(rate * scores[i])."""
    return _selected("Exp", scores, rate)


def argmax(values: Iterable[Mean]) -> Quantity:
    """Return the position of the largest value, from 0; of equal ones the first."""
    return _selected("argmax", values)


def argmin(values: Iterable[Mean]) -> Quantity:
    """Return the position of the smallest value, from 0; of equal ones the first."""
    return _selected("argmin", values)


def maximum(values: Iterable[Mean]) -> Quantity:
    """Return the largest of the values, without a path for each; `max` follows all orders."""
    return _extreme("max", values)


def minimum(values: Iterable[Mean]) -> Quantity:
    """Return the smallest of the values, without a path for each; `min` follows all orders."""
    return _extreme("min", values)


def where(condition: Condition | bool, yes: Any, no: Any) -> Any:
    """Return `yes` if the condition holds, else `no`, without a path for each."""
    run = _path()
    if isinstance(condition, Condition):
        return run.where(condition, yes, no)
    if not isinstance(condition, bool):
        raise running().refusal(f"a condition is needed, got {type(condition).__name__}")
    return yes if condition else no


def clamp(value: Mean, low: Exact, high: Exact) -> Quantity:
    """Return the number from `low` to `high` that is nearest to a number: integer noise becomes one
    of finitely many numbers, real noise stays what it is in between."""
    run = _path()
    kind = kind_of_either(value, low, high)
    held, ends = _number(value, "the value"), _ends(low, high)
    if (found := of_input("clamp", held, *ends)) is not None:
        return found
    values = run.knowledge.possible(held)
    if values is None and run.is_integer(held):
        between = range(floor(ends[0]), ceil(ends[1]) + 1)
        return _finite(held.node, ends, map(Fraction, between))
    if values is None:
        return run.drawn(_clamped(held.node, ends), "c", [None], "real")
    return of_numpy(_finite(held.node, ends, _values(values)), False, kind)  # type: ignore[no-any-return]  # a quantity


def rounded(value: Mean, low: Exact, high: Exact, step: Exact = 1) -> Quantity:
    """Return the nearest multiple of `step`, between `low` and `high`; halves are rounded up."""
    run = _path()
    held, ends = _number(value, "the value"), _ends(low, high)
    unit = exact(step, "a step")
    if unit <= 0:
        raise running().refusal(f"a step must be > 0, got {unit}", kind="value error")
    values = run.knowledge.possible(held)
    if values is None:
        steps = rounding_steps("round", unit, ends, True, 1)
        multiples = (each.value for each in steps)
    else:
        multiples = (rounded_number("round", each, unit) for each in _values(values))
    call = ast.Call("round", (held.node, literal(unit, running().here)), span=running().here)
    return _finite(call, ends, multiples)


def exp(exponent: Scale | Mean) -> Weight:
    """Return e ** exponent, for the probabilities of `choose`."""
    inner = weight(exponent, "an exponent")
    if inner.known == 0:
        return constant(_ONE, Weight)  # type: ignore[no-any-return]  # of that kind
    return Weight(ast.Call("exp", (inner.node,), span=running().here), inner.cells)


def sqrt(value: Scale) -> Weight:
    """Return the square root of a number, for scales."""
    return _of_scale("sqrt", value)


def log(value: Scale) -> Weight:
    """Return the natural logarithm of a number, for scales."""
    return _of_scale("log", value)


_ONE = Fraction(1)


def _path() -> PathRun:
    found = running()
    assert isinstance(found, PathRun)  # nothing else draws
    return found


def _of_scale(word: str, value: Scale) -> Weight:
    inner = weight(value, f"what '{word}' is taken of")
    node = inner.node if inner.node.span else replace(inner.node, span=running().here)
    return Weight(ast.Call(word, (node,), span=running().here), inner.cells)


def _draw(family: Family, mean: Mean, scale: Scale) -> Quantity:
    centre = _number(mean, "the mean")
    width = _known(weight(scale, "the scale"))
    call = ast.Call(family.name, (centre.node, width.node), span=running().here)
    kind = "integer" if family.is_discrete else "real"
    return _path().drawn(call, "r", [None], kind)


def _known(scale: Weight) -> Weight:
    """Return a scale with the values that the path gives inputs in it: each is a path."""

    def value_of(node: Any) -> ast.Expression | None:
        if not isinstance(node, ast.Name | ast.Index) or cell_name(node) not in scale.cells:
            return None
        key = cell_name(node)
        value = running().value_of(Quantity(node, frozenset((key,)), lambda given: given[key]))
        if isinstance(value, str):
            raise running().refusal(f"'{value}' is no number")
        return literal(value, running().here)

    if not scale.cells:
        return scale
    return Weight(rewrite(scale.node, value_of))


def _selected(word: str, values: Iterable[Mean], rate: Scale | None = None) -> Quantity:
    numbers = _numbers(values)
    nodes = [each.node for each in numbers]
    if rate is not None:
        nodes.insert(0, weight(rate, "the rate").node)
    call = ast.Call(word, tuple(nodes), span=running().here)
    place = _path().drawn(call, "i", [tuple(_ONE * (i + 1) for i in range(len(numbers)))])
    return arithmetic("-", place, 1)  # type: ignore[no-any-return]  # a quantity


def _extreme(word: str, values: Iterable[Mean]) -> Quantity:
    given = list(values) if isinstance(values, Iterable) else values
    numbers = _numbers(given)
    if len(numbers) == 1:
        return numbers[0]
    if (found := of_input(word, *given)) is not None:
        return found
    call = ast.Call(word, tuple(each.node for each in numbers), span=running().here)
    domains = [_path().knowledge.possible(each) for each in numbers]
    return of_numpy(_path().drawn(call, "m", domains), False, kind_of_either(*given))  # type: ignore[no-any-return]  # a quantity


def of_input(word: str, *values: Any) -> Quantity | None:
    """Return a clamp, an extreme or the modulus of a real input as it is written, without paths;
    None of other values."""
    run = running()
    own = [each for each in values if isinstance(run, PathRun) and run.is_input(each)]
    if len(own) != 1 or not all(each is own[0] or is_number(each) for each in values):
        return None
    nodes = tuple(_number(each, "a value").node for each in values)
    read = Quantity(ast.Call(word, nodes, span=run.here))
    return of_numpy(read, False, kind_of_either(*values))  # type: ignore[no-any-return]  # a quantity


def _numbers(values: Iterable[Mean]) -> list[Quantity]:
    if not isinstance(values, Iterable):
        raise running().refusal(f"a list of values is needed, got {type(values).__name__}")
    numbers = [_number(each, "a value") for each in values]
    if not numbers:
        raise running().refusal("there is nothing to choose from", kind="value error")
    return numbers


def _number(value: Any, what: str) -> Quantity:
    """Take a number; a condition is 1 or 0."""
    found = as_number(_path().quantity(value, what))
    if running().is_text(found):
        raise running().refusal(f"{what} must be a number, got a named value")
    return found


def _ends(low: Exact, high: Exact) -> tuple[Fraction, Fraction]:
    ends = exact(low, "an end"), exact(high, "an end")
    if ends[1] < ends[0]:
        raise running().refusal(f"nothing is between {ends[0]} and {ends[1]}", kind="value error")
    return ends


def _values(values: Iterable[Value]) -> Iterable[Fraction]:
    return (value for value in values if isinstance(value, Fraction))


def _finite(
    node: ast.Expression, ends: tuple[Fraction, Fraction], values: Iterable[Fraction]
) -> Quantity:
    """Clamp what has finitely many values then."""
    clamped = tuple(dict.fromkeys(min(max(value, ends[0]), ends[1]) for value in values))
    return _path().drawn(_clamped(node, ends), "c", [clamped])


def _clamped(node: ast.Expression, ends: tuple[Fraction, Fraction]) -> ast.Expression:
    here = running().here
    return ast.Call("clamp", (node, *(literal(end, here) for end in ends)), span=here)
