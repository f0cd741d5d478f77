"""What every value can be asked, and operators: of known values by exact types, in one table.

A combination of types that does not stand here is refused where it is written, before anything is
computed; of floats there are infinities alone, and they are compared.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from dataclasses import fields
from enum import Enum
from fractions import Fraction
from types import MethodType
from typing import Any

from dipapprox.language.core import Relation
from dipapprox.language.functions import symbols
from dipapprox.language.functions.machine import (
    CONTAINERS,
    MOST_CELLS,
    SCALARS,
    Array,
    Function,
    ImportedName,
    Machine,
    NameScope,
    Stream,
    Text,
    are_named,
    is_object,
    is_type,
    kind_of,
    member,
    plain,
)
from dipapprox.language.functions.symbols import Condition, Symbolic, Weight
from dipapprox.language.functions.words import exact_form

WHOLE = frozenset((int, bool))
NUMBERS = WHOLE | {Fraction}
MOST_BITS = 100_000  # of a number, and of the length of a text or list that an operator makes

VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))

# --- what every value can be asked ----------------------------------------------------------------


def truth(machine: Machine, value: Any) -> bool:
    machine.step()
    value = plain(value)
    if isinstance(value, Symbolic):
        return symbols.truth(value)
    if type(value) in SCALARS or type(value) in CONTAINERS or type(value) is range:
        return bool(value)
    if isinstance(value, Function | MethodType | type | NameScope) or is_object(value):
        return True
    raise machine.refusal(f"{kind_of(value)} has no truth value here")


def items(machine: Machine, value: Any) -> Iterator[Any]:
    """Iterate over a value, as Python would: over a list, while it changes."""
    machine.step()
    value = plain(value)
    if type(value) in (list, tuple, str, range):
        return iter(value)
    if isinstance(value, Array):
        return iter(value.cells)
    if type(value) is dict or type(value) in VIEWS:
        return map(symbols.from_key, _unchanged(machine, value))
    if isinstance(value, Stream):
        held: Stream = machine.change(value)
        return held.values
    if type(value) is set:
        hint = "sorted(s), len(s) and x in s depend on its elements alone; lists keep order"
        raise machine.refusal("the order of a set is another one in each process", hint)
    if isinstance(value, type) and issubclass(value, Enum):
        return map(member, value)
    if isinstance(value, Symbolic):
        raise value.refusal("is nothing to iterate over")
    raise machine.refusal(f"{kind_of(value)} is nothing to iterate over here")


def _unchanged(machine: Machine, value: Any) -> Iterator[Any]:
    held = value if type(value) is dict else value.mapping
    names = list(held)
    for place in range(len(names) + 1):
        if list(held) != names:
            raise machine.refusal("the dictionary changes while it is iterated over")
        yield from list(value)[place : place + 1]


def bounded(machine: Machine, value: Any) -> Iterator[Any]:
    """Yield all values of an iterable, which must end."""
    for place, each in enumerate(items(machine, value)):
        machine.step()
        if place >= MOST_CELLS:
            raise machine.limit("this goes on for ever")
        yield each


def listed(machine: Machine, value: Any) -> list[Any]:
    return list(bounded(machine, value))


def key(machine: Machine, value: Any, sought: bool = False) -> Any:
    """Return a value that may be a key, or an element of a set, or is sought among such."""
    if type(value) in SCALARS or isinstance(value, type | Function | symbols.FloatKey):
        return value
    options = _options(value)
    if is_object(value) and not isinstance(value, tuple | BaseException) and not options:
        return value
    if options and options.frozen and all(key(machine, v) is v for v in vars(value).values()):
        return value  # equal, to Python, if all its fields are
    if type(value) is tuple:
        return tuple(key(machine, each, sought) for each in value)
    if isinstance(value, Symbolic) and (sought or not value.numpy):
        found = symbols.truth(value) if isinstance(value, Condition) else symbols.value(value)
        return found if sought or value.kind is not float else symbols.FloatKey(found)
    message = f"{kind_of(value)} is no key here, and no element of a set"
    hint = "a tuple of what it holds is one" if is_object(value) else ""
    hint = _PLAIN if _is_numpys(value) else hint
    raise machine.refusal(message, 'look it up: ["a", "b"][k]' if isinstance(value, Text) else hint)


def keys(machine: Machine, values: Any) -> set[Any]:
    """Return the set of the values of an iterable: those of another set in any order."""
    given = values if type(values) is set else listed(machine, values)
    return {key(machine, each) for each in given}


def number(machine: Machine, value: Any) -> Any:
    """Return the known number that a value is: of an input, that on the path."""
    found = symbols.value(value) if isinstance(value, Symbolic) else value
    if type(found) not in NUMBERS:
        raise machine.refusal(f"a number must stand here, not {kind_of(found)}")
    return found


def whole(machine: Machine, value: Any) -> int:
    """Return a whole number: of an input, that which it is on the path."""
    found = number(machine, value)
    if type(found) not in WHOLE or (isinstance(value, Condition) and value.numpy):
        what = kind_of(found if type(found) is Fraction else value)
        raise machine.refusal(f"a whole number must stand here, not {what}")
    return int(found)


def end(machine: Machine, value: Any) -> int | None:
    """Return a whole number, or None, which slices take."""
    return None if value is None else whole(machine, value)


# --- operators of two sides -----------------------------------------------------------------------

_ALL_NUMBERS = frozenset((a, b) for a in NUMBERS for b in NUMBERS)
_WHOLE = frozenset((a, b) for a in WHOLE for b in WHOLE)
_JOINED = frozenset(((list, list), (tuple, tuple), (str, str)))
_SETS = frozenset(((set, set),))
_REPEATED = frozenset(pair for t in (list, tuple, str) for n in WHOLE for pair in ((t, n), (n, t)))

_BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any], frozenset[Any]]] = {
    ast.Add: ("+", operator.add, _ALL_NUMBERS | _JOINED),
    ast.Sub: ("-", operator.sub, _ALL_NUMBERS | _SETS),
    ast.Mult: ("*", operator.mul, _ALL_NUMBERS | _REPEATED),
    ast.Div: ("/", operator.truediv, _ALL_NUMBERS - _WHOLE),  # of whole numbers: a float
    ast.FloorDiv: ("//", operator.floordiv, _ALL_NUMBERS),
    ast.Mod: ("%", operator.mod, _ALL_NUMBERS),
    ast.Pow: ("**", operator.pow, frozenset((a, b) for a in NUMBERS for b in WHOLE)),
    ast.BitAnd: ("&", operator.and_, _WHOLE | _SETS),
    ast.BitOr: ("|", operator.or_, _WHOLE | _SETS | {(dict, dict)}),
    ast.BitXor: ("^", operator.xor, _WHOLE | _SETS),
    ast.LShift: ("<<", operator.lshift, _WHOLE),
    ast.RShift: (">>", operator.rshift, _WHOLE),
    ast.MatMult: ("@", operator.matmul, frozenset()),
}

_UNARY: dict[type[ast.unaryop], tuple[Callable[[Any], Any], frozenset[type]]] = {
    ast.USub: (operator.neg, NUMBERS | {float}),
    ast.UAdd: (operator.pos, NUMBERS),
    ast.Invert: (operator.invert, frozenset((int,))),
}


def unary(machine: Machine, op: ast.unaryop, value: Any) -> Any:
    if isinstance(op, ast.Not):
        return not truth(machine, value)
    if _is_numpys(value):
        if isinstance(value, Condition) and not isinstance(op, ast.Invert):
            raise machine.refusal("a truth value of numpy's has no sign", _PLAIN)
        return symbols.of_numpy(unary(machine, op, symbols.of_numpy(value, False)))
    if isinstance(value, Symbolic):
        if not isinstance(op, ast.Invert):
            return symbols.signed("-" if isinstance(op, ast.USub) else "+", value)
        return symbols.inverted(value) if type(value) is Condition else ~whole(machine, value)
    if isinstance(op, ast.Invert) and type(value) is bool:
        message = "'~' of what is no condition: of Python's truth values it makes a number"
        raise machine.refusal(message, "write not")
    operate, allowed = _UNARY[type(op)]
    if type(value) not in allowed:
        raise machine.refusal(f"this operator is not known for {kind_of(value)}")
    return operate(value)


def combine(machine: Machine, op: type[ast.operator], left: Any, right: Any) -> Any:
    if _is_numpys(left) or _is_numpys(right):
        return _combine_numpys(machine, op, left, right)
    if isinstance(left, Symbolic) or isinstance(right, Symbolic):
        return _combine_symbols(machine, op, left, right)
    if op is ast.Add and {type(left), type(right)} in ({Text}, {Text, str}):
        return Text()
    sides = left, right
    if op is ast.BitOr and are_named(left, right):
        if left is right is None or not all(map(is_type, sides)):
            raise machine.raised(TypeError("only types have a union"))
        return ImportedName("|", sides)
    _, operate, allowed = _BINARY[op]
    ints = (type(left), type(right)) in _WHOLE
    if (type(left), type(right)) not in allowed or (op is ast.Pow and ints and right < 0):
        if ints and op in (ast.Div, ast.Pow):
            hint = exact_form(machine.node, op is ast.Div, left, right)
            raise machine.refusal("a / b of two int is a float in Python", hint)
        message = f"this operator is not known for {kind_of(left)} and {kind_of(right)}"
        arrays = isinstance(left, Array) or isinstance(right, Array)
        raise machine.refusal(message, "[a + b for a, b in zip(v, w)]" if arrays else "")
    return machine.spend(machine.native(operate, *_small(machine, op, left, right)))


def _small(machine: Machine, op: type[ast.operator], left: Any, right: Any) -> tuple[Any, Any]:
    """Return two known values again if the result of an operator cannot grow too large."""
    numbers = [value for value in (left, right) if type(value) in NUMBERS]
    sizes = [len(value) for value in (left, right) if type(value) not in NUMBERS]
    sizes += [max(n.numerator.bit_length(), n.denominator.bit_length()) for n in numbers]
    size = sum(sizes) if op in (ast.Add, ast.Mult) else 0
    if op is ast.Pow or (op is ast.Mult and len(numbers) == 1):
        size = sizes[0] * abs(numbers[-1])
    elif op is ast.LShift:
        size = sizes[0] + max(right, 0)
    if size > MOST_BITS:
        raise machine.limit("the result is too large")
    return left, right


def _combine_symbols(machine: Machine, op: type[ast.operator], left: Any, right: Any) -> Any:
    """Apply an operator where a symbol stands; divisors, and both sides of // % ** << >> & | ^,
    are each of the values that they may have."""
    sign = _BINARY[op][0]
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Symbolic) or type(side) in NUMBERS:
            continue
        if op is ast.Mult and type(side) in (list, tuple, str) and type(other) is not Weight:
            return combine(machine, op, side, whole(machine, other))
        if type(side) in (float, str) or type(side) in CONTAINERS:
            raise machine.refusal(f"'{sign}' with what is no number: {type(side).__name__}")
        raise machine.refusal(f"an input or a sample meets {kind_of(side)}")
    if op is ast.Pow and type(left) is Weight:
        return symbols.power(left, right)
    if sign in "&|^" and all(type(side) in (Condition, bool) for side in (left, right)):
        return symbols.joined(sign, left, right)
    if op is ast.Div and Weight not in (type(left), type(right)):
        known = number(machine, right) if getattr(right, "compute", True) else right
        if known == 0:
            raise machine.raised(ZeroDivisionError("division by zero"))
        if symbols.kind_of_all(right) is float:
            right = symbols.of_numpy(known, False, float)
        elif known is not right:
            return combine(machine, op, left, known)
    if sign in "+-*/":
        return symbols.arithmetic(sign, left, right)
    if op is ast.MatMult:
        raise (left if isinstance(left, Symbolic) else right).refusal("has no such operation")
    first, second = number(machine, left), number(machine, right)
    found = (
        _powered(machine, first, second) if op is ast.Pow else combine(machine, op, first, second)
    )
    of_float = symbols.kind_of_all(left, right) is float or (
        op is ast.Pow and Fraction not in (type(first), type(second)) and second < 0
    )
    return symbols.of_numpy(found, False, float) if of_float else found


def _powered(machine: Machine, first: Any, second: Any) -> Any:
    if second.denominator != 1:
        raise machine.refusal("a power of what is not known is a whole one")
    _small(machine, ast.Pow, first, second)
    found = machine.native(operator.pow, Fraction(first), second.numerator)
    return found if type(first) is Fraction or second < 0 else int(found)


# --- numbers and truth values of numpy's ----------------------------------------------------------

_PLAIN = "int(…) and bool(…) make them Python's"


def _is_numpys(value: Any) -> bool:
    return isinstance(value, Symbolic) and value.numpy


def _combine_numpys(machine: Machine, op: type[ast.operator], left: Any, right: Any) -> Any:
    """Apply an operator where numpy does what Python does."""
    sign, sides = _BINARY[op][0], (left, right)
    truths = all(type(side) in (Condition, bool) for side in sides)
    numbers = all(isinstance(side, Symbolic) or type(side) in NUMBERS for side in sides)
    first, second = (symbols.of_numpy(s, False) if _is_numpys(s) else s for s in sides)
    if Weight in map(type, sides):
        return combine(machine, op, first, second)
    refused = not numbers or sign in ("@", "<<", ">>") or (truths and sign not in "&|^")
    if not refused and sign in ("/", "//", "%", "**"):
        value = number(machine, second)
        refused = value < 0 or type(value) is not int if sign == "**" else value == 0
    if refused:
        raise machine.refusal(f"'{sign}' does something else in numpy", _PLAIN)
    return symbols.of_numpy(combine(machine, op, first, second))


# --- comparisons ----------------------------------------------------------------------------------

_RELATIONS = dict(zip((ast.Lt, ast.LtE, ast.Gt, ast.GtE), Relation, strict=False))
_INFINITE = frozenset(pair for n in {*NUMBERS, float} for pair in ((n, float), (float, n)))
_ORDERED = _ALL_NUMBERS | {(str, str)} | _SETS | _INFINITE


def compare(machine: Machine, op: ast.cmpop, left: Any, right: Any) -> Any:
    """Return what a comparison says: a truth value, or a condition."""
    if isinstance(op, ast.Is | ast.IsNot):
        return is_same(machine, left, right) == isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn):
        return is_in(machine, left, right) == isinstance(op, ast.In)
    if isinstance(op, ast.Eq | ast.NotEq):
        found = equal(machine, left, right)
        if isinstance(op, ast.Eq):
            return found
        return symbols.inverted(found) if isinstance(found, Condition) else not found
    return ordered(machine, type(op), left, right)


def _of_both(found: Any, left: Any, right: Any) -> Any:
    """Return what a comparison of numbers says: a truth value of numpy's if one of them is."""
    return symbols.of_numpy(found) if _is_numpys(left) or _is_numpys(right) else found


def ordered(machine: Machine, op: type[ast.cmpop], left: Any, right: Any) -> Any:
    """Compare by size: numbers, texts, and lists and tuples cell by cell."""
    relation = _RELATIONS[op]
    left, right = _fields(left, right, "order")
    if isinstance(left, Symbolic) or isinstance(right, Symbolic):
        _refuse_others(machine, left, right)
        return _of_both(symbols.compared(relation, left, right), left, right)
    if type(left) in (list, tuple) and type(left) is type(right):
        for one, other in zip(left, right, strict=False):
            if one is not other and not truth(machine, equal(machine, one, other)):
                return ordered(machine, op, one, other)
        return relation.holds(Fraction(len(left)), Fraction(len(right)))
    if (type(left), type(right)) not in _ORDERED:
        raise machine.refusal(f"{kind_of(left)} and {kind_of(right)} are not ordered")
    return relation.holds(left, right)


def _fields(left: Any, right: Any, option: str) -> tuple[Any, Any]:
    """Return what is compared in the place of two objects: their fields, if they are of a class."""
    if type(left) is type(right) and getattr(_options(left), option, False):
        names = [each.name for each in fields(left) if each.compare]
        first, second = ([getattr(side, name) for name in names] for side in (left, right))
        return first, second
    return plain(left), plain(right)


def _options(value: Any) -> Any:
    """Return what the decorator of a data class says of its objects; None for others."""
    return getattr(value, "__dataclass_params__", None) if is_object(value) else None


def _refuse_others(machine: Machine, *sides: Any) -> None:
    allowed = SCALARS if any(map(_is_numpys, sides)) else SCALARS | CONTAINERS
    for side in sides:
        if not isinstance(side, Symbolic) and type(side) not in allowed:
            raise machine.refusal(f"an input or a sample is compared with {kind_of(side)}")


def equal(machine: Machine, left: Any, right: Any) -> Any:
    """Compare values, and lists and tuples cell by cell, in Python's order: to a truth value, or to
    a condition."""
    if isinstance(left, Symbolic) or isinstance(right, Symbolic):
        if any(_is_itself(each) for each in (left, right)):
            symbol = left if isinstance(left, Symbolic) else right
            if isinstance(symbol, Weight):
                raise symbol.unknown()
            return False  # none has operators of its own, and none is a number or a text
        _refuse_others(machine, left, right)
        return _of_both(symbols.compared(Relation.EQUAL, left, right), left, right)
    machine.step()
    if left is right and type(left) not in (float, Array):
        return True  # as Python takes it, in containers, and all our values equal themselves
    left, right = _fields(left, right, "eq")
    if type(left) in (list, tuple) and type(left) is type(right):
        return _all_equal(machine, left, right)
    if type(left) is dict and type(right) is dict:
        if list(left) != list(right) and set(left) != set(right):
            return False
        return _all_equal(machine, list(left.values()), [right[name] for name in left])
    same = SCALARS | {set, range}
    if type(left) in same and type(right) in same:
        return bool(left == right)
    if all(type(v) in same | CONTAINERS or _is_itself(v) for v in (left, right)):
        return False  # of different kinds, or equal to themselves alone
    raise machine.refusal(f"{kind_of(left)} is not compared with {kind_of(right)}")


def _is_itself(value: Any) -> bool:
    return is_object(value) or isinstance(value, type | Function)


def _all_equal(machine: Machine, left: Any, right: Any) -> bool:
    pairs = zip(left, right, strict=False)
    return len(left) == len(right) and all(is_alike(machine, *pair) for pair in pairs)


def is_alike(machine: Machine, one: Any, other: Any) -> bool:
    return one is other or truth(machine, equal(machine, one, other))


def is_same(machine: Machine, left: Any, right: Any) -> bool:
    """Whether two values are one object, where Python says so of all that they may be."""
    for one, other in ((left, right), (right, left)):
        if isinstance(other, ImportedName):
            raise machine.refusal(f"what {kind_of(other)} is, is not known here")
        if isinstance(one, Condition) and type(other) is bool and not one.numpy:
            return symbols.truth(one) == other
        if (one is None or isinstance(one, NameScope) or _is_itself(one)) and not isinstance(
            other, Symbolic | Text | Stream | MethodType
        ):
            if isinstance(one, tuple):
                break
            return one is other
        if one is None or isinstance(one, type | Function):
            return False  # no input or sample is one of these
    raise machine.refusal("'is' tells what is known of numbers, texts and lists", "write ==")


def is_in(machine: Machine, sought: Any, where: Any) -> bool:
    if type(where) in (dict, set):
        return key(machine, sought, True) in where
    if type(where) is str:
        if type(sought) is not str:
            raise machine.refusal(f"{kind_of(sought)} is never in a text")
        return sought in where
    if isinstance(where, type) and not isinstance(sought, where):
        raise machine.refusal("members of an enumeration alone are sought in it")
    return any(is_alike(machine, each, sought) for each in items(machine, where))
