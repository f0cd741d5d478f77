"""What quantities of a symbolic execution have in common, and the exact numbers beside them.

Each holds the expression of the language (`ast`) that says what it is, and the run that it belongs
to. Every number is exact: floats are refused.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from math import isfinite
from types import FrameType
from typing import Any, ClassVar, Never, Protocol, Self, TypeGuard

from dipapprox.errors import SourceError, UserError
from dipapprox.language import ast
from dipapprox.language.core import Value
from dipapprox.language.functions import classes
from dipapprox.language.functions.places import here
from dipapprox.source import Diagnostic, Span

Valuation = Mapping[str, Value | bool]
"""Values of variables with finitely many of them, by name."""

Compute = Callable[[Valuation], Any]

Exact = int | Fraction


class Run(Protocol):
    """The execution that quantities belong to.

    Attributes:
        inversions: How many `~` conditions have answered.
    """

    inversions: int

    def decide(self, condition: Any) -> bool:
        """Say whether a condition holds on the path that is being followed."""

    def value_of(self, quantity: Any) -> Value:
        """Say which value a quantity with finitely many has on the path."""

    def where(self, condition: Any, yes: object, no: object) -> Any:
        """Make a variable that has one value or the other."""

    def check(self) -> None:
        """Refuse what is used after its run."""

    def declares(self, text: str) -> bool:
        """Say whether a text is a value of an input or an output."""

    def is_text(self, quantity: Any) -> bool:
        """Say whether a quantity is a named value."""

    def refusal(self, kind: str, message: str, hint: str = "") -> SourceError:
        """Return the error that ends the run: the function cannot be a program."""


def refusal(kind: str, message: str, hint: str = "", span: Span | None = None) -> SourceError:
    """Return the error for what is written at a place, by default that which is executed."""
    return SourceError([Diagnostic(kind, message, span or here(), hint)])


class Symbolic(ABC):
    """What all of them have: an expression, and no value of their own."""

    __slots__ = ("cells", "compute", "node", "run")

    run: Run
    node: ast.Expression
    cells: frozenset[str]
    compute: Compute | None

    WHAT = "a quantity"

    __array_ufunc__: ClassVar[None] = None
    """Numpy leaves its operators to us."""

    def __init__(
        self, run: Run, node: ast.Expression, cells: frozenset[str], compute: Compute | None
    ) -> None:
        """Hold an expression.

        Args:
            run: The execution it belongs to.
            node: The expression.
            cells: The variables with finitely many values in it.
            compute: Its value, given theirs; None if it is random or any real number.
        """
        for name, value in zip(_PARTS, (run, node, cells, compute), strict=True):
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        raise self.run.refusal(
            "type error",
            f"{self.WHAT} has an unhashable type: it is no key, and no element of a set",
            "choose takes pairs as well: choose([(q, p), (1 - q, 1 - p)])",
        )

    def __repr__(self) -> str:
        raise self.run.refusal(
            "type error", f"{self.WHAT} has no text: only what is returned is published"
        )

    def __format__(self, _: str) -> str:
        return repr(self)

    def __float__(self) -> float:
        message = f"{self.WHAT} is no float: it is exact, and not known"
        raise self.run.refusal("type error", message, "lists hold it, and no array of numpy")

    def __copy__(self) -> Self:
        return self  # nothing in it changes

    def __deepcopy__(self, _: object) -> Self:
        return self

    def __bytes__(self) -> bytes:
        raise self.run.refusal("type error", f"{self.WHAT} has no bytes")

    def _refuse(self, *_: object) -> Never:
        raise self.run.refusal(
            "type error",
            f"{self.WHAT} has no such operation",
            "only + - * / with numbers, comparisons, and what dipapprox offers",
        )

    def __getattribute__(self, name: str) -> Any:
        """Refuse everything to all but this package: operators do not ask for names."""
        if name not in _OF_ANY and not _asks_by_right(sys._getframe(1), name):
            message, hint = f"{self.WHAT} has no attribute '{name}'", ""
            if name.startswith("__array_"):
                message = f"{self.WHAT} is put into an array of numpy, or into a function of it"
                hint = "lists hold it: what numpy does with it is not followed"
            if name == "__class__":
                message = (
                    f"{self.WHAT} is asked for its type: what a function does may not depend on "
                    "that"
                )
                hint = (
                    "inputs and noise are numbers, named values or truth values, as they are "
                    "declared"
                )
            raise self.run.refusal("type error", message, hint)
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, _: object) -> Never:
        raise self.run.refusal("type error", f"{self.WHAT} has no attribute '{name}'")

    def __delattr__(self, name: str) -> Never:
        raise self.run.refusal("type error", f"{self.WHAT} has no attribute '{name}'")

    def __init_subclass__(cls) -> None:
        """Refuse classes of others: what they do is not followed.

        Raises:
            UserError: If there is one.
        """
        if not cls.__module__.startswith("dipapprox."):
            raise UserError(f"'{cls.__name__}' cannot be derived from a class of symbols")

    @abstractmethod
    def __bool__(self) -> bool: ...

    @abstractmethod
    def value(self) -> int | Fraction:
        """Return the number that it is on the path."""


_OF_ANY = frozenset(("__copy__", "__deepcopy__"))
"""Asked for by name in Python's libraries."""


_PARTS = ("run", "node", "cells", "compute")


def _asks_by_right(frame: FrameType | None, name: str) -> bool:
    """Whether a part of a quantity is asked for by this package, or its class by arithmetic."""
    while frame is not None and frame.f_globals.get("__name__") == "abc":
        frame = frame.f_back  # which asks for others
    if frame is None:
        return True
    module = str(frame.f_globals.get("__name__", ""))
    if module == "fractions":
        return name == "__class__" and frame.f_code.co_name != "__new__"
    return module.startswith("dipapprox.")


_REFUSED = (
    "floordiv rfloordiv mod rmod divmod rdivmod pow rpow matmul rmatmul lshift rlshift rshift "
    "rrshift and rand or ror xor rxor truediv rtruediv pos neg abs invert round floor ceil trunc "
    "len iter next contains getitem setitem delitem reversed length_hint complex fspath"
)
"""What numbers and texts can do: an error of Python's own could be caught by the function."""

for _name in _REFUSED.split():
    setattr(Symbolic, f"__{_name}__", Symbolic._refuse)


def is_symbol(value: object) -> TypeGuard[Symbolic]:
    """Whether a value is a symbol; `isinstance` would believe what a class says of itself."""
    return issubclass(type(value), Symbolic)


def is_number(value: object) -> bool:
    """Whether a value of Python is an exact number, or a float, which must be refused."""
    return type(value) is float or classes.number_of(value) is not None


def exact(run: Run, value: object, what: str) -> Fraction:
    """Take an exact number.

    Raises:
        SourceError: If it is none.
    """
    number = classes.number_of(value)
    if number is not None:
        return Fraction(number)
    match value:
        case float() if not isfinite(value):
            raise run.refusal("type error", f"{what} must be a number, got {value!r}")
        case float():
            simple = Fraction(value).limit_denominator(1000)
            shown = f'Fraction("{simple}")' if float(simple) == value else "a Fraction"
            if simple == value and simple.denominator == 1:
                shown = str(simple)
            raise run.refusal(
                "type error",
                f"{what} must be an exact number, got the float {value!r}",
                f"write {shown}; of two int, a / b is a float in Python, and Fraction(a, b) is not",
            )
        case Symbolic():
            raise run.refusal(
                "type error", f"{what} must be known, but this depends on inputs or samples"
            )
        case _:
            raise run.refusal(
                "type error",
                f"{what} must be a number, got {type(value).__name__}",
                hint_for_class(value),
            )


def hint_for_class(value: object) -> str:
    """Say what to write instead of a number of a class that is not Python's own."""
    kind = type(value)
    module, name = kind.__module__.partition(".")[0], kind.__name__
    if module == "numpy":
        return "numbers of numpy have operators of their own: int(…) makes Python's"
    if name == "Decimal":
        return f'write Fraction("{value}")' if module in ("decimal", "_decimal") else ""
    derived = issubclass(kind, int | Fraction | str | tuple | list | dict)
    if derived and classes.base_of(kind) is None:
        return f"'{name}' may have operators of its own, which are not followed"
    return ""


def leave_to(run: Run, other: Any, method: str, operator: str) -> None:
    """Leave an operator to what is no number, if it is of a class of the user's; else refuse.

    Python's own error would not do: the function could catch it.

    Args:
        run: The run.
        other: What a symbol meets.
        method: By which `other` may answer: "__radd__".
        operator: As it is written.
    """
    kind = type(other)
    if is_symbol(other) or classes.answers(kind, method):
        return
    if method in ("__eq__", "__ne__") and classes.is_of_user(kind):
        return  # it is equal to itself alone
    message = f"'{operator}' with what is no number: {kind.__name__}"
    raise run.refusal("type error", message, hint_for_class(other))


def number_node(value: Fraction, span: Span | None = None) -> ast.Expression:
    """Return an exact number as an expression: a decimal, or else a quotient."""
    if value < 0:
        return ast.Negative(number_node(-value, span), span=span)
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest == 1:
        return ast.Number(value, span=span)
    parts = (ast.Number(Fraction(value.numerator)), ast.Number(Fraction(value.denominator)))
    return ast.Product(parts, ("/",), span=span)


def chained(left: ast.Expression, operator: str, right: ast.Expression) -> ast.Expression:
    """Return a sum or product; one that goes on to the right stays flat, as programs write it."""
    kind: type[ast.Sum | ast.Product] = ast.Sum if operator in "+-" else ast.Product
    if isinstance(left, kind):
        operands, operators = (*left.operands, right), (*left.operators, operator)
        return kind(operands, operators, span=here())
    return kind((left, right), (operator,), span=here())
