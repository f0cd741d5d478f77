"""What is built in or imported and followed, by whole names: the functions of the prelude.

A stub there (`def gcd(*values: whole): ...`) is Python's own function, or one of ours: the
annotation of an argument says what becomes of it (`TAKEN`). Where values are compared, they are
`Ranked`: by our rules. What has no name here is a word, and refused when it is used.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Callable, Sequence
from enum import EnumType
from fractions import Fraction
from functools import cache, partial
from importlib import import_module
from inspect import BoundArguments, Parameter, Signature, signature
from pathlib import Path
from types import MethodType
from typing import Any

from dipapprox.language.functions import noise
from dipapprox.language.functions.machine import (
    MOST_CELLS,
    SCALARS,
    Array,
    Function,
    ImportedName,
    Machine,
    NameScope,
    Raised,
    Stream,
    Text,
    kind_of,
    perform,
    plain,
)
from dipapprox.language.functions.operators import (
    VIEWS,
    combine,
    end,
    is_alike,
    items,
    key,
    keys,
    listed,
    number,
    ordered,
    truth,
    whole,
)
from dipapprox.language.functions.symbols import (
    Condition,
    Quantity,
    Symbolic,
    from_key,
    kind_of_all,
    of_numpy,
)
from dipapprox.language.functions.words import INSTEAD, OWN, REFUSED, unknown

MISSING = type("missing", (), {})  # what the prelude takes for an argument that is not given
TYPES = {each.__name__: each for each in (list, tuple, dict, set, str, int, Fraction)}
"""Those whose methods the prelude defines."""

_ELSE: dict[str, Any] = {
    "math.inf": math.inf,
    "typing.TYPE_CHECKING": False,
    **{each: ImportedName(each) for each in ("object", "super")},
    **{f"builtins.{each}": ImportedName(f"builtins.{each}") for each in REFUSED},
    **{
        f"{module}.{name}": ImportedName(f"{module}.{name}")
        for module, names in {
            "dipapprox": "Quantity Condition Weight mechanism Mechanism",
            "typing": "Annotated Any Literal NamedTuple Optional Union Sequence Callable Iterable",
        }.items()
        for name in names.split()
    },
}
"""Names that are known, beside the functions of the prelude."""


@cache
def _library() -> dict[str, Function]:
    """Read the prelude: its functions by name; methods are those of a type."""
    text = Path(__file__).with_name("prelude.py").read_text(encoding="utf-8")
    tree = ast.parse("\n".join((text, "class dipapprox:", *map(_stub, OWN))))
    groups = [each.name for each in tree.body if isinstance(each, ast.ClassDef)]
    names = {each: ImportedName(each) for each in groups if each not in TYPES}
    values = {**names, "missing": MISSING}
    scope = NameScope(frozenset(values), None, values, fixed=True, kind="module")
    found: dict[str, Function] = {}

    def read(body: list[ast.stmt], home: str) -> None:
        for node in body:
            match node:
                case ast.ClassDef(name):
                    read(node.body, f"{home}{name}.")
                case ast.FunctionDef(name):
                    found[home + name] = _standard(home + name, node, scope)
                case ast.Assign(targets, value):
                    source = ast.unparse(value)
                    known = found.get(source) or found.get(home + source)
                    for target in targets:
                        name = home + ast.unparse(target)
                        of = value if known is None else known.node
                        found[name] = _standard(name, of, scope)

    read(tree.body, "")
    return {each.name: each for each in found.values()}


def _stub(name: str) -> str:
    """Write one of our own functions as a stub that takes symbols."""
    given = signature(getattr(noise, name))
    taken = [each.replace(annotation="symbols") for each in given.parameters.values()]
    return f"    def {name}{Signature(taken)}: ...".replace("'", "")


def _standard(name: str, node: Any, scope: NameScope) -> Function:
    def default(value: ast.expr) -> Any:
        known = isinstance(value, ast.Name)
        return scope.values[value.id] if known else ast.literal_eval(value)  # type: ignore[attr-defined]  # a name, if known

    called = signature_of(node.args, default)
    return Function(name.removeprefix("builtins."), node, scope, called, standard=True)


def signature_of(given: ast.arguments, default: Callable[[ast.expr], Any]) -> Signature:
    """Return parameters with their defaults, in the order in which Python evaluates them."""
    placed = [*given.posonlyargs, *given.args]
    kinds: list[Any] = [Parameter.POSITIONAL_ONLY] * len(given.posonlyargs)
    kinds += [Parameter.POSITIONAL_OR_KEYWORD] * len(given.args)
    defaults = [*[None] * (len(placed) - len(given.defaults)), *given.defaults]
    found = list(zip(placed, kinds, defaults, strict=True))
    if given.vararg is not None:
        found.append((given.vararg, Parameter.VAR_POSITIONAL, None))
    for each, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found.append((each, Parameter.KEYWORD_ONLY, value))
    if given.kwarg is not None:
        found.append((given.kwarg, Parameter.VAR_KEYWORD, None))
    return Signature(
        [
            Parameter(
                each.arg,
                kind,
                default=Parameter.empty if value is None else default(value),
                annotation=each.annotation,
            )
            for each, kind, value in found
        ]
    )


def word(name: str) -> Any:
    """Return what an imported name stands for: a function, a constant, or a word."""
    home, _, own = name.partition(".")
    if home in TYPES and own != "fromkeys":
        return ImportedName(name)  # a method, which is one of objects here
    return _library().get(name) or _ELSE.get(name, ImportedName(name))


def found(machine: Machine, name: str) -> Any:
    """Return what a name in a module or type stands for; refused if Python has none there, or,
    where `try` catches that, may have none."""
    value = word(name)
    if not isinstance(value, ImportedName) or name in _ELSE:
        return value
    home, *path = name.split(".")
    held: Any = {"Fraction": Fraction}.get(home) or getattr(builtins, home, None)
    known = held is not None or (home != "numpy" and bool(names_in(home)))
    if known or (home == "numpy" and machine.tries):
        held = held or import_module(home)
    for each in path:
        held = getattr(held, each, MISSING)
    if held is MISSING and (known or machine.tries):
        machine.call(value)  # which is refused
    return value


def builtin(name: str) -> Any:
    """Return what a name means in Python itself; None if nothing that is known."""
    return _library().get(name) or _ELSE.get(name) or _ELSE.get(f"builtins.{name}")


def names_in(module: str) -> Sequence[str]:
    """Return what `from module import *` brings; nothing for a module that is not known."""
    if module == "numpy" or not any(n.startswith(f"{module}.") for n in (*_library(), *_ELSE)):
        return ()
    held = import_module(module)
    return getattr(held, "__all__", None) or [n for n in vars(held) if not n.startswith("_")]


def method(machine: Machine, receiver: Any, name: str) -> MethodType:
    """Return a method of a list, tuple, dictionary, set, text or number."""
    known = _library().get(f"{type(receiver).__name__}.{name}")
    if known is None or type(receiver).__name__ not in TYPES:
        message = f"'.{name}' of {kind_of(receiver)} is not followed"
        raise machine.refusal(message, INSTEAD.get(name, ""))
    return MethodType(known, receiver)


@perform.register
def _call_word(
    function: ImportedName, machine: Machine, placed: tuple[Any, ...], named: dict[str, Any]
) -> Any:
    own = function.name.removeprefix("numpy.")  # numpy has what Python has elsewhere
    homes = ("", "statistics.", "math.") if own != function.name else ()
    known = (f"{home}{own}(…) does, of lists" for home in homes if f"{home}{own}" in _library())
    raise machine.refusal(*unknown(function.name, next(known, "")))


# --- how arguments are taken ----------------------------------------------------------------------

_LARGEST = 10_000  # of a whole number that says how large a result is


class Ranked:
    """A value that Python's own sorting compares by our rules."""

    __slots__ = ("key", "machine", "value")

    def __init__(self, machine: Machine, value: Any, by: Any = None) -> None:
        """Hold a value, with its key; `by` makes one."""
        self.machine, self.value = machine, from_key(value)
        self.key = self.value if by is None else called(machine, by)(self.value)

    def __lt__(self, other: Ranked) -> bool:
        return truth(self.machine, ordered(self.machine, ast.Lt, self.key, other.key))

    def __gt__(self, other: Ranked) -> bool:
        return truth(self.machine, ordered(self.machine, ast.Gt, self.key, other.key))

    def __eq__(self, other: object) -> bool:
        return is_alike(self.machine, self.key, other.key)  # type: ignore[attr-defined]  # of these


class Heap(list[Ranked]):
    """What becomes of a list of the function's, to be written back."""

    def __init__(self, machine: Machine, values: Any) -> None:
        if type(values) is not list:
            raise machine.refusal(f"a list must stand here, not {kind_of(values)}")
        super().__init__(Ranked(machine, each) for each in machine.change(values))
        self.origin = values


def called(machine: Machine, function: Any) -> Callable[..., Any]:
    """Return what calls a function of the user's: of Python's own only a stream may end so."""

    def call(*given: Any) -> Any:
        try:
            return machine.call(function, *given)
        except Raised as error:
            raise machine.unended(error) from None

    return call


def _test(machine: Machine, function: Any) -> Callable[[Any], bool]:
    if function is None:
        return lambda value: truth(machine, value)
    call = called(machine, function)
    return lambda value: truth(machine, call(value))


def _joining(machine: Machine, function: Any) -> Callable[..., Any]:
    if function is None:
        return lambda left, right: combine(machine, ast.Add, left, right)
    return called(machine, function)


def _bound(machine: Machine, value: Any) -> int | None:
    found = end(machine, value)
    if found is not None and found > MOST_CELLS:
        raise machine.limit("this goes on for ever")
    return found


def _small(machine: Machine, value: Any) -> int:
    found = whole(machine, value)
    if abs(found) > _LARGEST:
        raise machine.limit(f"a number above {_LARGEST}")
    return found


def _text(machine: Machine, value: Any) -> Any:
    if type(value) is int:
        return _small(machine, value)
    if type(value) not in SCALARS and type(value) is not tuple:
        raise machine.refusal(f"a text that is known must stand here, not {kind_of(value)}")
    return value


def _some(machine: Machine, values: Any) -> list[Any]:
    found = listed(machine, values)
    if not found:
        raise machine.refusal("nothing is to be found in nothing")
    return found


def _row(machine: Machine, value: Any) -> list[Any]:
    """Return the cells of a list that numpy takes as an array of one dimension."""
    if not isinstance(value, Array) and type(value) not in (list, tuple, range):
        raise machine.refusal(f"{kind_of(value)} is no list of numbers, as numpy takes here")
    if not machine.draws:
        raise machine.refusal("numpy's functions are followed in mechanisms alone")
    found = listed(machine, value)
    for each in found:
        if type(each) not in (Quantity, Condition, int, bool, Fraction):
            raise machine.refusal(f"a list of numbers must stand here, with {kind_of(each)} in it")
        of_numpy(each)
    if kind_of_all(*found) is float:  # to numpy, all are then
        found = [of_numpy(each, False, float) for each in found]
    return _some(machine, found)


def _numbers(machine: Machine, value: Any) -> list[Any]:
    """Return the same, without truth values: numpy has other operators for those."""
    found = _row(machine, value)
    for each in found:
        if type(each) in (Condition, bool):
            raise machine.refusal(f"{kind_of(each)} stands where numpy must find a number")
    return found


def _symbols(machine: Machine, value: Any) -> Any:
    """Return what one of our functions takes: with lists instead of what is read once."""
    if not machine.draws:
        hint = "@dipapprox.mechanism makes a function one that may"
        raise machine.refusal("noise is drawn in a mechanism, and not by the file", hint)
    if isinstance(value, Stream | Array) or type(value) in (list, tuple, range, *VIEWS):
        found = [_symbols(machine, each) for each in listed(machine, value)]
        return tuple(found) if type(value) is tuple else found
    if type(value) is dict:
        return {name: _symbols(machine, each) for name, each in value.items()}
    if isinstance(value, Text):
        message = "a text with inputs or samples in it: only what is returned counts"
        raise machine.refusal(message)
    if not isinstance(value, Symbolic) and type(value) not in SCALARS:
        raise machine.refusal(f"{kind_of(value)} is no number, text, input or sample")
    return value


_Taker = Callable[[Machine, Any], Any]


def _where(holds: Callable[[Any], bool], message: str, hint: str = "") -> _Taker:
    """Return what takes a value as it is, if something holds of it."""

    def taken(machine: Machine, value: Any) -> Any:
        value = plain(value)
        if not holds(value):
            raise machine.refusal(f"{kind_of(value)} {message}", hint)
        return value

    return taken


def _typed(machine: Machine, value: Any) -> Any:
    """Return a known number whose type is known as well."""
    if kind_of_all(value) is float:
        raise machine.refusal("a quotient is a float in Python, which is not followed here")
    return number(machine, value)


def _numeral(machine: Machine, value: Any) -> Any:
    if isinstance(value, Text):
        hint = "compute with these themselves"
        raise machine.refusal("a text with inputs or samples in it is no number", hint)
    return value if value is None or type(value) is str else number(machine, value)


_SEQUENCES = (list, tuple, range, str)
_SIZED = (*_SEQUENCES, Array, dict, set, EnumType, *VIEWS)
_INFINITE = ("inf", "infinity")


TAKEN: dict[str, _Taker] = {
    **{
        each.__name__.strip("_"): each
        for each in (
            *(whole, number, truth, key, items, listed, _small, end, _bound, keys, _text, _some),
            *(_row, _numbers),
            *(called, _test, _joining, _symbols, _numeral),
        )
    },
    "changed": Machine.change,
    "sought": lambda machine, value: key(machine, value, True),
    "ranked": Ranked,
    "heap": Heap,
    "ranks": lambda machine, values: [Ranked(machine, each) for each in listed(machine, values)],
    "ranking": lambda machine, by: by and (lambda each: Ranked(machine, each.value, by)),
    "streams": lambda machine, values: map(partial(items, machine), items(machine, values)),
    "truths": lambda machine, values: (truth(machine, v) for v in items(machine, values)),
    "typed": _typed,
    "summand": _where(lambda v: type(v) is not str, "is not added up: ''.join(…) does"),
    "sequence": _where(lambda v: type(v) in _SEQUENCES, "is not read from its end"),
    "sized": _where(lambda v: type(v) in _SIZED, "has no length here"),
    "stream": _where(lambda v: isinstance(v, Stream), "is no iterator: iter(…) makes one"),
    "infinity": _where(
        lambda v: (
            type(v) is float or (type(v) is str and v.strip().lower().lstrip("+-") in _INFINITE)
        ),
        "is no float: numbers are exact",
        INSTEAD["float"],
    ),
}
"""What an annotation of the prelude makes of an argument: (machine, value)."""


def take(machine: Machine, function: Function, given: BoundArguments) -> None:
    """Take the arguments of a function of the prelude as its annotations say."""
    for each in function.signature.parameters.values():
        if each.annotation is not None:
            taken, value = TAKEN[each.annotation.id], given.arguments[each.name]
            several = each.kind is Parameter.VAR_POSITIONAL
            given.arguments[each.name] = (
                tuple(taken(machine, one) for one in value) if several else taken(machine, value)
            )
