"""Domains of inputs: how they are written, and wider ones than a program declares."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from fractions import Fraction
from itertools import islice
from typing import Any, NoReturn

from dipapprox.data_classes import Record, field
from dipapprox.errors import UserError, did_you_mean
from dipapprox.language.core import Program, Value

MOST_CELLS = 100_000  # of all arrays of a program together
LARGEST_DOMAIN = 10_000
Domain = tuple[Value, ...]  # the values of an input, each once


class AllReals(tuple[Value, ...]):
    """The domain of an input that may be any real number, perhaps between two bounds.

    It lists nothing: to ask it for its values is an error of the user, who wants an answer that
    there is for finite domains only.
    """

    # The least and the greatest number; None if there are none.
    bounds: tuple[Fraction, Fraction] | None

    def __new__(cls, bounds: tuple[Fraction, Fraction] | None = None) -> AllReals:
        made = super().__new__(cls)
        made.bounds = bounds
        return made

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.bounds == self.bounds

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((type(self), self.bounds))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.bounds or ''})"

    def _refuse(self, *_: Any) -> NoReturn:
        hint = "'dipapprox prove' answers for all real inputs"
        raise UserError("an input may be any real number, but this needs a finite domain", hint)

    def __len__(self) -> int:
        self._refuse()

    def __iter__(self) -> Iterator[Value]:
        self._refuse()

    def __contains__(self, value: object) -> bool:
        self._refuse()

    def __getitem__(self, key: Any) -> Any:
        self._refuse()


class AllIntegers(AllReals):
    """The domain of an input that may be any integer, perhaps between two bounds."""


def has_real_inputs(program: Program) -> bool:
    """Whether some input is declared as any number."""
    return any(isinstance(cell.domain, AllReals) for cell in program.inputs)


def admits(domain: Collection[Value], value: Value) -> bool:
    """Whether a value is in a domain, listed or not."""
    if not isinstance(domain, AllReals):
        return value in domain
    if isinstance(value, str) or (isinstance(domain, AllIntegers) and value.denominator != 1):
        return False
    return domain.bounds is None or domain.bounds[0] <= value <= domain.bounds[1]


def bounds_of(domain: Domain) -> tuple[Fraction, Fraction] | None:
    """Return the least and the greatest number of a domain; None if it has names or no bounds."""
    if isinstance(domain, AllReals):
        return domain.bounds
    numbers = [value for value in domain if isinstance(value, Fraction)]
    return (min(numbers), max(numbers)) if len(numbers) == len(domain) else None


def names_in(domain: Domain) -> tuple[str, ...]:
    """Return the values of a domain that are names."""
    if isinstance(domain, AllReals):
        return ()
    return tuple(value for value in domain if isinstance(value, str))


def has_names(domain: Domain) -> bool:
    """Whether some values of a domain are names."""
    return bool(names_in(domain))


_SHORTEST_RANGE = 4  # fewer values are written one by one


def domain_text(domain: Domain, most: int | None = None) -> str:
    """Write a domain as programs do: "{0, 1}", "-5..5", "{bot, top}".

    Args:
        domain: In its own order.
        most: Values that are written one by one before the rest is only counted; None: all.
    """
    if isinstance(domain, AllReals):
        return "real" + ("" if domain.bounds is None else " {}..{}".format(*domain.bounds))
    first, last = domain[0], domain[-1]
    if (
        len(domain) >= _SHORTEST_RANGE
        and isinstance(first, Fraction)
        and first.denominator == 1
        and domain == tuple(first + k for k in range(len(domain)))
    ):
        return f"{first}..{last}"
    if most is None or len(domain) <= most:
        return f"{{{', '.join(map(str, domain))}}}"
    shown = ", ".join(map(str, domain[: most - 1]))
    return f"{{{shown}, …, {last}}} ({len(domain)} values)"


def describe_domain(domain: Collection[Value]) -> str:
    """List the values of a domain, shortened."""
    if isinstance(domain, AllReals):
        return domain_text(domain)
    shown = ", ".join(str(value) for value in islice(domain, 12))
    return shown + (", …" if len(domain) > 12 else "")


class Widening(Record):
    """Domains in place of those that a program declares; each contains the declared one."""

    # Of every input with numbers that `named` does not name; None: as declared.
    everywhere: Domain | None = None
    named: Mapping[str, Domain] = field(default_factory=dict)  # of single inputs


AS_DECLARED = Widening()
MOST_ROUNDS = 10_000


class FiniteRounds(Record):
    """How many rounds there are of a program with streams, and what inputs may be."""

    rounds: int
    values: Domain


def wider_domains(widening: Widening, declared: Mapping[str, Domain]) -> dict[str, Domain]:
    """Return the wider domains by the names of their inputs; without those that stay.

    Raises:
        UserError: If an input does not exist, has named values, or would lose a value.
    """
    for name in widening.named:
        if name not in declared:
            known = f"the inputs are {', '.join(declared)}" if declared else "it has none"
            message = f"cannot widen '{name}': the program has no such input"
            raise UserError(message, did_you_mean(name, tuple(declared), known))
    numeric = {name: domain for name, domain in declared.items() if not has_names(domain)}
    if widening.everywhere is not None and not numeric:
        raise UserError("cannot widen: the program has no inputs with numbers")
    chosen = dict(widening.named)
    if widening.everywhere is not None:
        chosen = {**dict.fromkeys(numeric, widening.everywhere), **chosen}
    for name, domain in chosen.items():
        if name not in numeric:
            hint = "only numbers can be widened"
            raise UserError(f"cannot widen '{name}': its values are names", hint)
        if isinstance(declared[name], AllReals):
            raise UserError(f"cannot widen '{name}': it may be any real number already")
        kept = set(domain)
        lost = [value for value in declared[name] if value not in kept]
        if lost:
            raise UserError(
                f"cannot widen '{name}' to {domain_text(domain, 8)}: its value {lost[0]} "
                "is not in there",
                f"a wider domain contains the declared one, {domain_text(declared[name], 8)}",
            )
    return {name: domain for name, domain in chosen.items() if len(domain) > len(declared[name])}
