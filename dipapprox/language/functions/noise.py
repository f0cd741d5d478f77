"""What mechanisms draw with: noise, random choices, and selections among samples.

Each is a statement of the program that the function becomes (docs/language.md has the laws), and
returns the drawn variable. Means and options may depend on inputs, scales on eps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from dipapprox.distributions import Family
from dipapprox.language import ast
from dipapprox.language.core_expressions import Value
from dipapprox.language.functions import places
from dipapprox.language.functions.quantities import Condition, Quantity
from dipapprox.language.functions.run import PathRun, running
from dipapprox.language.functions.symbolic import Exact
from dipapprox.language.functions.weights import Weight, weight

Mean = Quantity | Condition | Exact
Scale = Weight | Exact


def gauss(mean: Mean, deviation: Scale) -> Quantity:
    """Draw Gaussian noise; `deviation` is the standard deviation."""
    return _draw(Family.GAUSSIAN, mean, deviation)


def laplace(mean: Mean, scale: Scale) -> Quantity:
    """Draw Laplace noise: density e^(-|x - mean| / scale) / (2 scale)."""
    return _draw(Family.LAPLACE, mean, scale)


def laplace_plus(start: Mean, scale: Scale) -> Quantity:
    """Draw exponential noise above `start`: density e^(-(x - start) / scale) / scale."""
    return _draw(Family.EXPONENTIAL, start, scale)


def laplace_minus(start: Mean, scale: Scale) -> Quantity:
    """Draw its mirror image, below `start`."""
    return _draw(Family.REFLECTED_EXPONENTIAL, start, scale)


def discrete_laplace(mean: Mean, scale: Scale) -> Quantity:
    """Draw an integer, with probability proportional to e^(-|x - mean| / scale)."""
    return _draw(Family.DISCRETE_LAPLACE, mean, scale)


def discrete_gauss(mean: Mean, deviation: Scale) -> Quantity:
    """Draw an integer, with probability proportional to e^(-(x - mean)^2 / (2 deviation^2))."""
    return _draw(Family.DISCRETE_GAUSSIAN, mean, deviation)


def choose(options: Mapping[Any, Any] | Iterable[Any]) -> Any:
    """Draw one of finitely many values.

        choose({"heads": Fraction(1, 3), "tails": Fraction(2, 3)})
        choose([(q, exp(eps) / (1 + exp(eps))), (1 - q, 1 / (1 + exp(eps)))])
        choose(range(6))                                                          uniformly

    Args:
        options: Values with probabilities, as a mapping or as pairs; or values alone.
    """
    run = running()
    if isinstance(options, Mapping):
        pairs = list(options.items())
    else:
        pairs = list(options)
        if not all(isinstance(each, tuple) and len(each) == 2 for each in pairs):
            count = len(pairs)
            share = ast.Product((ast.Number(_ONE), ast.Number(_ONE * count)), ("/",))
            pairs = [(each, Weight(run, share, frozenset(), None)) for each in pairs]
    if not pairs:
        raise run.refusal("value error", "a choice needs at least one value")
    values = [run.quantity(value, "a value") for value, _ in pairs]
    if not all(isinstance(value, Condition) for value in values):
        values = [value.number() if isinstance(value, Condition) else value for value in values]
    weights = [_weight(run, given, "a probability") for _, given in pairs]
    call = ast.Choose(
        tuple(
            ast.Option(value.node, weight.node)
            for value, weight in zip(values, weights, strict=True)
        ),
        span=places.here(),
    )
    finite = [run.knowledge.possible(value) for value in values if isinstance(value, Quantity)]
    place = assigned(run, call, "c", "number" if finite else "truth")
    if not finite:
        return run.truth(place)
    if None in finite:
        raise run.refusal("type error", "a choice among values that are not finitely many")
    return run.variable(place, tuple(dict.fromkeys(v for each in finite for v in each or ())))


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
    run = running()
    if isinstance(condition, Condition):
        return run.where(condition, yes, no)
    if not isinstance(condition, bool):
        raise run.refusal("type error", f"a condition is needed, got {type(condition).__name__}")
    return yes if condition else no


def exp(exponent: Scale | Mean) -> Weight:
    """Return e ** exponent, for the probabilities of `choose`."""
    run = running()
    inner = _weight(run, exponent, "an exponent")
    return Weight(run, ast.Call("exp", (inner.node,), span=places.here()), inner.cells, None)


def sqrt(value: Scale) -> Weight:
    """Return the square root of a number, for scales."""
    return _of_scale("sqrt", value)


def log(value: Scale) -> Weight:
    """Return the natural logarithm of a number, for scales."""
    return _of_scale("log", value)


_ONE = Fraction(1)


def _of_scale(word: str, value: Scale) -> Weight:
    run = running()
    inner = _weight(run, value, f"what '{word}' is taken of")
    return Weight(run, ast.Call(word, (inner.node,), span=places.here()), inner.cells, None)


def _draw(family: Family, mean: Mean, scale: Scale) -> Quantity:
    run = running()
    centre = number(run, mean, "the mean")
    width = _weight(run, scale, "the scale")
    call = ast.Call(family.value, (centre.node, width.node), span=places.here())
    return run.random(assigned(run, call, "r", "integer" if family.is_discrete else "real"))


def _selected(word: str, values: Iterable[Mean], rate: Scale | None = None) -> Quantity:
    run = running()
    numbers = _numbers(run, values)
    nodes = [each.node for each in numbers]
    if rate is not None:
        nodes.insert(0, _weight(run, rate, "the rate").node)
    place = assigned(run, ast.Call(word, tuple(nodes), span=places.here()), "i", "number")
    domain: tuple[Value, ...] = tuple(_ONE * (i + 1) for i in range(len(numbers)))
    return run.variable(place, domain) - 1


def _extreme(word: str, values: Iterable[Mean]) -> Quantity:
    run = running()
    numbers = _numbers(run, values)
    if len(numbers) == 1:
        return numbers[0]
    call = ast.Call(word, tuple(each.node for each in numbers), span=places.here())
    domains = [run.knowledge.possible(each) for each in numbers]
    place = assigned(run, call, "m", "mixed" if None in domains else "number")
    if None in domains:
        return run.random(place)
    return run.variable(place, tuple(dict.fromkeys(v for each in domains for v in each or ())))


def _numbers(run: PathRun, values: Iterable[Mean]) -> list[Quantity]:
    numbers = [number(run, each, "a value") for each in values]
    if not numbers:
        raise run.refusal("value error", "there is nothing to choose from")
    return numbers


def number(run: PathRun, value: Any, what: str) -> Quantity:
    """Take a number; a condition is 1 or 0."""
    found = run.quantity(value, what)
    return found.number() if isinstance(found, Condition) else found


def _weight(run: PathRun, value: Any, what: str) -> Weight:
    found = weight(run, value)
    if found is None:
        raise run.refusal("type error", f"{what} must be a number or depend on eps")
    if found.run is not run:
        found.run.check()
    return found


def assigned(run: PathRun, value: ast.Expression, otherwise: str, kind: str) -> ast.Name:
    """Assign an expression to a new variable; see `PathRun.fresh`."""
    span = places.here()
    target = ast.Name(run.fresh(otherwise, kind), span=span)
    run.emit(ast.Assign((target,), value, span=span))
    return target
