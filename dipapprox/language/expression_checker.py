"""Names and kinds in expressions, conditions and calls, before the parameters are known.

One pass finds the kind of an expression and what is wrong with it. While the kinds of variables
are not known yet, and where a kind alone is asked for, it says nothing: kinds are the least
solution of "assigned a real, hence real".

Reals are affine combinations of samples; finite values are numbers, named values and truth
values. A finite number may stand where a real is expected, never the other way round. Random
integers (discrete Laplace noise) and reals never meet in one sum, comparison or variable (DiPC
paper, Figure 1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from operator import or_

from dipapprox.errors import did_you_mean
from dipapprox.language import ast, symbols
from dipapprox.language.symbols import Kind, Role, Scope, Symbol, with_number
from dipapprox.language.traversal import operands_of
from dipapprox.laws.families import INTEGERS

REPEATED = "draw it before the loop, or use 'for', which is unrolled"


def kind_of(node: ast.Expression, known: Mapping[str, Symbol]) -> Kind:
    """Return the kinds of an expression from the kinds of its names."""
    return check_expression(Scope(known), node)


def _joined(kinds: Iterable[Kind]) -> Kind:
    """Arithmetic is random when an operand is, and a number otherwise."""
    return reduce(or_, (kind & Kind.RANDOM for kind in kinds), Kind.NUMBER)


def check_shape(scope: Scope, place: ast.Target, symbol: Symbol) -> None:
    """Check that an array is indexed and a scalar is not."""
    if isinstance(place, ast.Index):
        check_number(scope, place.index, where="an index")
        if not symbol.is_array:
            hint = f"write '{place.name}', or use another name for the array"
            scope.report(f"'{place.name}' is no array", place.span, hint)
    elif symbol.is_array:
        hint = f"write '{place.name}[i]' for one of its elements"
        scope.report(f"'{place.name}' is an array", place.span, hint)


_CLAMPED = f"an end of '{symbols.CLAMP}'"


def check_number(
    scope: Scope, node: ast.Expression, where: str = "a number", static: bool = False
) -> Kind:
    """Check an expression that must be a finite number; return its kind."""
    kind = check_expression(scope, node)
    if kind & ~Kind.NUMBER:
        hint = f"{kind.describe()}s cannot be used here" if kind & Kind.RANDOM else ""
        scope.report(f"{where} is needed, but this is a {kind.describe()}", node.span, hint)
    elif static and not is_static(scope, node):
        hint = "only numbers, parameters and loop variables are constant"
        hint += "; another scale is another draw, in a branch" * (where == "a scale")
        hint += "; 'max(a, min(x, b))' has ends that vary" * (where == _CLAMPED)
        scope.report("a constant is needed here", node.span, hint)
    return kind


def is_static(scope: Scope, node: ast.Expression) -> bool:
    match node:
        case ast.Name(name):
            symbol = scope.symbols.get(name)
            return symbol is None or symbol.role in (Role.PARAMETER, Role.LOOP, Role.VALUE)
        case ast.Index() | ast.Call() | ast.Choose() | ast.Disc():
            return False
        case _:
            return all(is_static(scope, operand) for operand in operands_of(node))


def check_operand(scope: Scope, node: ast.Expression, purpose: str) -> Kind:
    """Check an operand of arithmetic or of an ordered comparison: a number or a real."""
    kind = check_expression(scope, node)
    if kind & (Kind.NAMED | Kind.TRUTH):
        hint = "named values can only be compared with = and !="
        if kind & Kind.TRUTH:
            hint = "conditions are combined with 'and', 'or', 'not'"
        message = f"{purpose} needs numbers or reals, but this is a {kind.describe()}"
        scope.report(message, node.span, hint)
    return kind


def check_expression(scope: Scope, node: ast.Expression) -> Kind:
    match node:
        case ast.Name(name) | ast.Index(name):
            return _name(scope, node, name)
        case ast.Call():
            return _call(scope, node)
        case ast.Choose(options):
            return symbols.settled(reduce(or_, [_option(scope, each) for each in options]))
        case ast.Disc(value, points):
            check_operand(scope, value, "'disc'")
            for point in points:
                check_number(scope, point, "a point of 'disc'", static=True)
        case ast.Negative(operand):
            return _joined((check_operand(scope, operand, "'-'"),))
        case ast.Sum(operands, operators):
            kinds = [check_operand(scope, operand, f"'{operators[0]}'") for operand in operands]
            _unmixed(scope, kinds, "in one sum", node)
            return _joined(kinds)
        case ast.Product():
            return _product(scope, node)
        case ast.Power(base, exponent):
            kind = check_number(scope, base, "the base of a power")
            check_number(scope, exponent, "an exponent", static=True)
            return _joined((kind,))
        case ast.Truth() | ast.Not() | ast.And() | ast.Or() | ast.Comparison():
            check_condition(scope, node)
            return Kind.TRUTH
    return Kind.NUMBER


def _name(scope: Scope, node: ast.Name | ast.Index, name: str) -> Kind:
    symbol = scope.symbols.get(name)
    if symbol is not None:
        check_shape(scope, node, symbol)
        return symbol.kind
    if name == symbols.EPSILON:
        hint = "e.g. 'Gauss(q, 2/eps)'; a threshold is a parameter, 'param T = 4.605', and '-p T=…'"
        scope.report("'eps' can only be used in the scale of a distribution", node.span, hint)
    elif scope.diagnosis is not None:
        known = [*scope.symbols, symbols.EPSILON]
        hint = did_you_mean(name, known, "it is neither declared nor assigned anywhere")
        scope.report(f"unknown name '{name}'", node.span, hint, "name error")
    return Kind.NOTHING


def _unmixed(scope: Scope, kinds: list[Kind], where: str, node: ast.Expression) -> None:
    random = [kind & Kind.RANDOM for kind in kinds]
    if Kind.REAL in random and Kind.INTEGER in random:
        hint = "integer samples can only be combined with each other and with finite numbers"
        scope.report(f"reals and random integers {where}", node.span, hint)


def _product(scope: Scope, node: ast.Product) -> Kind:
    kinds: list[Kind] = []
    random: list[Kind] = []
    for position, operand in enumerate(node.operands):
        operator = node.operators[max(0, position - 1)]
        kinds.append(kind := check_operand(scope, operand, f"'{operator}'"))
        if position and operator == "/" and not is_static(scope, operand):
            hint = "divide by numbers, parameters and loop variables only"
            scope.report("division by something that is not constant", operand.span, hint)
        elif kind & Kind.RANDOM:
            random.append(kind)
    if len(random) > 1:
        what = random[0].describe()
        hint = f"random expressions must be linear: a constant times a {what}"
        scope.report(f"product of two {what}s", node.span, hint)
    return _joined(kinds)


# --- conditions ---------------------------------------------------------------------------


def check_condition(scope: Scope, node: ast.Expression) -> None:
    match node:
        case ast.Truth():
            pass
        case ast.Not(operand):
            check_condition(scope, operand)
        case ast.And(operands) | ast.Or(operands):
            for operand in operands:
                check_condition(scope, operand)
        case ast.Comparison():
            _comparison(scope, node)
        case _:
            kind = check_expression(scope, node)
            if kind & ~Kind.TRUTH:
                message = f"a condition is needed, but this is a {kind.describe()}"
                scope.report(message, node.span, "compare it with something, e.g. 'x >= 1'")


def _comparison(scope: Scope, node: ast.Comparison) -> None:
    ordered = [operator not in ("=", "!=") for operator in node.operators]
    kinds = []
    for position, operand in enumerate(node.operands):
        if any(ordered[max(0, position - 1) : position + 1]):
            operator = node.operators[max(0, position - 1)]
            kinds.append(check_operand(scope, operand, f"'{operator}'"))
            continue
        kinds.append(check_expression(scope, operand))
        if kinds[-1] == Kind.TRUTH and not isinstance(operand, ast.Name | ast.Index | ast.Truth):
            hint = "write 'b' or 'not b', and combine conditions with 'and', 'or'"
            scope.report("conditions cannot be compared", operand.span, hint)
    _unmixed(scope, kinds, "in one comparison", node)
    for operator, (left, right) in zip(node.operators, pairwise(kinds), strict=True):
        both = left | right
        if both & Kind.RANDOM and both & Kind.NAMED:
            scope.report("a real is compared with a named value", node.span)
        elif {left, right} == {Kind.NUMBER, Kind.NAMED}:
            hint = "they are never equal: compare with one of the values of the domain"
            scope.report("a number is compared with a named value", node.span, hint)
        elif operator in ("=", "!=") and both & Kind.TRUTH and left and right and left != right:
            hint = "write 'b' or 'not b', or compare it with another Boolean variable"
            scope.report("a condition is compared with something else", node.span, hint)


# --- calls ---------------------------------------------------------------------------------------


def _takes(scope: Scope, node: ast.Call, counts: tuple[int, ...], hint: str) -> Scope:
    """Check how many arguments there are; return the scope to go on in, silently if wrong."""
    given = len(node.arguments)
    if given not in counts:
        allowed = " or ".join(map(str, counts)) + (" argument" if counts == (1,) else " arguments")
        message = f"'{node.name}' takes {allowed}, got {given}"
        scope.report(message, node.span, hint)
        return Scope(scope.symbols)
    return scope


def _draw(scope: Scope, node: ast.Call) -> Kind:
    hint = f"write '{node.name}(mean, scale)', e.g. '{node.name}(q, 2/eps)'"
    drawn = Kind.INTEGER if node.name in INTEGERS else Kind.REAL
    if _takes(scope, node, (2,), hint) is not scope:
        return drawn
    if any(isinstance(p, ast.Comparison) and p.operators == ("=",) for p in node.arguments):
        scope.report("arguments have no names", node.span, hint, "syntax error")
        return drawn
    mean, scale = node.arguments
    kind = check_expression(scope, mean)
    if kind & ~Kind.NUMBER:
        what = kind.describe()
        message = f"the mean must be a finite number, but this is a {what}"
        hint = f"draw with mean 0 and add the {what}" if kind & Kind.RANDOM else ""
        scope.report(message, mean.span, hint)
    _in_eps(scope, scale, symbols.IN_SCALES, "a scale", static=True)
    if scope.is_repeated:
        scope.report("a 'while' cannot draw samples", node.span, REPEATED)
    return drawn


def _mechanism(scope: Scope, node: ast.Call) -> Kind:
    if len(node.arguments) < 2:
        hint = f"write '{node.name}(eps/2, score)', for an array, or '{node.name}(eps/2, a, b)'"
        scope.report(f"'{node.name}' needs a rate and scores", node.span, hint)
        return Kind.NUMBER
    rate, *scores = node.arguments
    _in_eps(scope, rate, symbols.IN_SCALES, "a scale", static=True)
    array = _whole_array(scope, scores)
    if array is None:
        for score in scores:
            check_number(scope, score, "a score")
    elif array.kind & ~Kind.NUMBER:
        scope.report("scores must be finite numbers", scores[0].span)
    return Kind.NUMBER


def _clamp(scope: Scope, node: ast.Call) -> Kind:
    """Check a clamp of a number, random or not, between two constants. A clamped real is still one;
    a clamped integer, or rounded real, is a finite number."""
    hint = f"write '{symbols.CLAMP}(z, -5, 5)': the number, the least and the largest value"
    scope = _takes(scope, node, (3,), hint)
    value, *ends = node.arguments
    for end in ends:
        check_number(scope, end, _CLAMPED, static=True)
    if isinstance(value, ast.Call) and value.name in symbols.ROUNDINGS:
        return _rounding(scope, value, is_clamped=True)
    real = check_operand(scope, value, f"'{symbols.CLAMP}'") & Kind.REAL
    _once(scope, node, real)
    return Kind.NUMBER | real


def _absolute(scope: Scope, node: ast.Call) -> Kind:
    scope = _takes(scope, node, (1,), f"write '{symbols.ABSOLUTE}(x)'")
    kind = _joined(check_operand(scope, v, f"'{symbols.ABSOLUTE}'") for v in node.arguments)
    _once(scope, node, kind)
    return kind


def _rounding(scope: Scope, node: ast.Call, is_clamped: bool = False) -> Kind:
    """Check a rounding, to whole numbers or to multiples of a constant."""
    hint = f"write '{node.name}(x)', or '{node.name}(x, 5)' for multiples of 5"
    scope = _takes(scope, node, (1, 2), hint)
    value, *step = node.arguments
    kind = check_operand(scope, value, f"'{node.name}'")
    if kind & Kind.RANDOM and not is_clamped:
        scope.report(
            f"'{node.name}' of a {kind.describe()} may be any multiple: too many values",
            node.span,
            f"clamp it to finitely many: '{symbols.CLAMP}({node.name}(x), -5, 5)'",
        )
    _once(scope, node, kind)
    for each in step:
        check_number(scope, each, "a step", static=True)
    return Kind.NUMBER


def _once(scope: Scope, node: ast.Call, kind: Kind) -> None:
    """Refuse functions of samples inside 'while'."""
    if scope.is_repeated and kind & Kind.RANDOM:
        hint = "take it before the loop"
        scope.report(f"'{node.name}' of samples inside 'while'", node.span, hint)


def _selection(scope: Scope, node: ast.Call) -> Kind:
    array = _whole_array(scope, node.arguments)
    if array is not None:
        kinds = [array.kind]
        if array.kind & (Kind.NAMED | Kind.TRUTH):
            scope.report(f"'{node.name}' needs numbers or reals", node.arguments[0].span)
    else:
        kinds = [check_operand(scope, value, f"'{node.name}'") for value in node.arguments]
        _unmixed(scope, kinds, f"in one '{node.name}'", node)
    _once(scope, node, kind := _joined(kinds))
    return kind if node.name in symbols.EXTREMES else Kind.NUMBER


def _whole_array(scope: Scope, arguments: Sequence[ast.Expression]) -> Symbol | None:
    """Return the array that is the only argument, if it is one."""
    if len(arguments) != 1 or not isinstance(arguments[0], ast.Name):
        return None
    symbol = scope.symbols.get(arguments[0].name)
    return symbol if symbol is not None and symbol.is_array else None


_CHECKS: dict[str, Callable[[Scope, ast.Call], Kind]] = {
    **dict.fromkeys(symbols.DISTRIBUTIONS, _draw),
    symbols.MECHANISM: _mechanism,
    **dict.fromkeys(symbols.SELECTIONS, _selection),
    symbols.CLAMP: _clamp,
    symbols.ABSOLUTE: _absolute,
    **dict.fromkeys(symbols.ROUNDINGS, _rounding),
}
_IN_SCALES_ONLY = (
    "can only be used in the scale of a distribution",
    "elsewhere numbers are rational: 'param T = 4.605' is about log(100), '-p T=…' another",
)
_MISPLACED = {
    symbols.EXPONENTIAL: (
        "can only be used in the weights of 'choose'",
        "e.g. 'choose {1 : exp(eps)/(1 + exp(eps)), 0 : 1/(1 + exp(eps))}'",
    ),
    symbols.ROOT: _IN_SCALES_ONLY,
    symbols.LOGARITHM: _IN_SCALES_ONLY,
    symbols.DISCRETISATION: (
        "takes a value and points, separated by ';'",
        "write e.g. 'disc(r; -1 < 0 < 1)'",
    ),
}
"""What is wrong with calls of functions that are none of values, and a hint."""


def _call(scope: Scope, node: ast.Call) -> Kind:
    if node.name in _CHECKS:
        return _CHECKS[node.name](scope, node)
    if node.name in _MISPLACED:
        message, hint = _MISPLACED[node.name]
        scope.report(f"'{node.name}' {message}", node.span, hint)
    else:
        known = (*_CHECKS, symbols.DISCRETISATION)
        hint = did_you_mean(node.name, known, f"functions are {', '.join(known)}")
        hint = symbols.MEANT.get(node.name.lower(), hint)
        symbol = scope.symbols.get(node.name)
        if symbol is not None and symbol.is_array:
            hint = f"array elements are written '{node.name}[i]'"
        scope.report(f"unknown function '{node.name}'", node.span, hint, "name error")
    return Kind.NUMBER


# --- choices ------------------------------------------------------------------------------


def _option(scope: Scope, option: ast.Option) -> Kind:
    if isinstance(option.value, ast.Range):
        _ends(scope, option.value)
        return Kind.NUMBER
    inside = scope if option.turns is None else with_turns(scope, option.turns)
    if inside is None:
        return Kind.NOTHING
    kind = check_expression(inside, option.value)
    if kind & Kind.RANDOM:
        message = f"values of 'choose' are finite, but this is a {kind.describe()}"
        hint = "choose a number and compare or multiply afterwards"
        inside.report(message, option.value.span, hint)
    if option.weight is not None:
        _in_eps(inside, option.weight, (symbols.EXPONENTIAL,), "a weight", static=False)
    return kind


def with_turns(scope: Scope, turns: ast.Turns) -> Scope | None:
    """Check the numbers that something is written for; return the scope for each of them."""
    _ends(scope, turns)
    if turns.variable == symbols.EPSILON or turns.variable in scope.symbols:
        message = f"'{turns.variable}' is the name of something else"
        scope.report(message, turns.span, "choose another name", "name error")
        return None
    return with_number(scope, turns.variable, turns.span)


def _ends(scope: Scope, numbers: ast.Range | ast.Turns) -> None:
    for end in (numbers.first, numbers.last):
        check_number(scope, end, "an end of a range", static=True)


def _in_eps(
    scope: Scope, node: ast.Expression, functions: tuple[str, ...], where: str, *, static: bool
) -> None:
    """Check arithmetic with eps, finite numbers and some functions.

    The form of scales is checked when the parameters are known.
    """

    def check(part: ast.Expression) -> None:
        _in_eps(scope, part, functions, where, static=static)

    match node:
        case ast.Name(symbols.EPSILON):
            pass
        case ast.Call(name, arguments) if name in functions:
            if len(arguments) != 1 and name not in symbols.SELECTIONS:
                scope.report(f"'{name}' takes 1 argument", node.span)
            for argument in arguments:
                check(argument)
        case ast.Sum(operands) | ast.Product(operands):
            for operand in operands:
                check(operand)
        case ast.Negative(operand):
            check(operand)
        case ast.Power(base, exponent):
            check(base)
            check_number(scope, exponent, "an exponent", static=True)
        case _:
            check_number(scope, node, where, static=static)
