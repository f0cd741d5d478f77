"""Where samples of integer noise are, numbers must be whole (DiPC paper, Figure 1).

    mean of DLap, DGauss    a finite number, whole whatever the inputs are (DiPC paper, Lemma 17)
    z, i * z, …             integer coefficients
    z + e                   e is whole; in comparisons any rational: z >= 1/2

The check runs on the core, where parameters are bound. Means that are affine in input cells are
checked on their domains. The rest is a matter of flow: a variable counts as whole if all that is
ever assigned to it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from dipapprox.data_classes import Record
from dipapprox.errors import Diagnosis
from dipapprox.language import core
from dipapprox.language.domains import AllReals, Domain
from dipapprox.language.expressions import terms_of
from dipapprox.language.traversal import nodes_in, reachable
from dipapprox.source import Span


def check(
    statements: Sequence[core.Statement],
    inputs: Mapping[str, Domain],
    others: Mapping[str, Domain],
    diagnosis: Diagnosis,
) -> None:
    """Report fractions where whole numbers are needed; inputs that may be any are integers then.

    Args:
        statements: Of a program, those inside others too, that draw integers.
        inputs: Their domains, and likewise those of outputs and state cells.
    """
    draws = [s for s in statements if isinstance(s, core.Draw)]
    integers = {_stem(draw.target) for draw in draws if draw.family.is_discrete}
    fractions = {_stem(draw.target) for draw in draws if not draw.family.is_discrete}
    any_integer = (Fraction(0), Fraction(1))
    domains = {
        name: any_integer if isinstance(domain, AllReals) else domain
        for name, domain in {**inputs, **others}.items()
    }
    fractions |= {name for name, domain in domains.items() if not all(map(_is_whole, domain))}
    flows: dict[str, list[str]] = defaultdict(list)
    for each in statements:
        values: tuple[core.Expression, ...] = ()
        match each:
            case core.Assign(target, value):
                values = (value,)
            case core.Choose(target, options):
                values = tuple(value for value, _ in options)
        for value in values:
            if not _is_whole_but(value):
                fractions.add(_stem(target))
            for name in _names(value):
                flows[name].append(_stem(target))
    integers, fractions = (reachable(each, flows.__getitem__) for each in (integers, fractions))
    checks = _Checks(integers, fractions, {name: domains[name] for name in inputs}, diagnosis)
    for statement in statements:
        checks.statement(statement)


class _Checks(Record):
    integers: set[str]
    fractions: set[str]
    domains: Mapping[str, tuple[core.Value, ...]]
    diagnosis: Diagnosis

    def statement(self, statement: core.Statement) -> None:
        match statement:
            case core.Draw(mean=mean, family=family) if family.is_discrete:
                if not self._is_whole(mean) and not self._is_whole_on_domains(mean):
                    self._report(f"the mean of '{family.name}' may be a fraction", mean.span)
            case core.Assign(_, value):
                if not self.integers.isdisjoint(_names(value)) and not self._is_whole(value):
                    self._report("a random integer is combined with a fraction", value.span)
            case core.If(condition, _, _) | core.While(condition, _):
                for node in nodes_in(condition):
                    if isinstance(node, core.Comparison):
                        self._side(node.left)
                        self._side(node.right)

    def _side(self, node: core.Expression) -> None:
        match node:
            case core.Sum(left, right):
                self._side(left)
                self._side(right)
            case core.Product():
                if not self.integers.isdisjoint(_names(node)) and not self._is_whole(node):
                    self._report("a random integer is multiplied by a fraction", node.span)

    def _is_whole(self, node: core.Expression) -> bool:
        return _is_whole_but(node) and self.fractions.isdisjoint(_names(node))

    def _is_whole_on_domains(self, mean: core.Expression) -> bool:
        """Whether an affine expression is whole for all values of the input cells in it."""
        constant = Fraction(0)
        coefficients: dict[core.Expression, Fraction] = defaultdict(Fraction)
        for coefficient, factor in terms_of(mean):
            if factor is None:
                constant += coefficient
            else:
                coefficients[factor] += coefficient
        for factor, coefficient in coefficients.items():
            domain = self.domains.get(_stem(factor)) if isinstance(factor, core.Variable) else None
            if domain is None:
                if coefficient.denominator != 1 or not self._is_whole(factor):
                    return False
                continue
            first, *others = (coefficient * v for v in domain if isinstance(v, Fraction))
            if any((other - first).denominator != 1 for other in others):
                return False
            constant += first
        return constant.denominator == 1

    def _report(self, message: str, span: Span | None) -> None:
        self.diagnosis.report(
            "type error", message, span,
            "integer samples are whole numbers: use whole means, coefficients and constants",
        )  # fmt: skip


def _is_whole(value: core.Value) -> bool:
    return not isinstance(value, Fraction) or value.denominator == 1


def _is_whole_but(node: core.Expression) -> bool:
    """Whether an expression is whole if its variables are."""
    return all(_is_whole(each.value) for each in _parts(node) if isinstance(each, core.Constant))


def _names(node: core.Expression) -> Iterator[str]:
    """Yield the variables that a value is computed from; arrays by their names."""
    return (_stem(each) for each in _parts(node) if isinstance(each, core.Variable | core.Element))


def _parts(node: core.Expression) -> Iterator[core.Expression]:
    """Yield what sums and products are made of."""
    match node:
        case core.Sum(left, right) | core.Product(left, right):
            yield from _parts(left)
            yield from _parts(right)
        case _:
            yield node


def _stem(place: core.Variable | core.Element) -> str:
    return place.array if isinstance(place, core.Element) else place.name.partition("[")[0]
