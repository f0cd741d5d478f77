"""Where elaborated statements go: the current block, with a bound on their number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from dipapprox.errors import Diagnosis
from dipapprox.language import ast, core
from dipapprox.language.constants import Wrong
from dipapprox.language.declarations import DeclaredVariable, describe_domain
from dipapprox.language.domains import AllReals, Domain, admits
from dipapprox.source import Span

MOST_STATEMENTS = 500_000
Place = core.Variable | core.Element


def _quick(domain: Domain) -> Domain | dict[core.Value, None]:
    return domain if isinstance(domain, AllReals) else dict.fromkeys(domain)


class Emitter:
    """Collects core statements into `block`; counts them, and turns of loops."""

    def __init__(
        self,
        outputs: Iterable[DeclaredVariable],
        states: Iterable[DeclaredVariable],
        diagnosis: Diagnosis,
    ) -> None:
        self.block: list[core.Statement] = []
        self._domains = {
            variable.name: (word, _quick(variable.domain))
            for word, variables in (("output", outputs), ("state cell", states))
            for variable in variables
        }
        self._diagnosis = diagnosis
        self.counted = 0

    @contextmanager
    def inner(self, block: list[core.Statement] | None = None) -> Iterator[list[core.Statement]]:
        """Collect into `block`, by default a new one, then go back to the current one."""
        outer, self.block = self.block, [] if block is None else block
        try:
            yield self.block
        finally:
            self.block = outer

    def emit(self, statement: core.Statement) -> None:
        """Add a statement."""
        self.count(1, statement.span)
        self.block.append(statement)

    def count(self, steps: int, span: Span | None) -> None:
        """Count statements or turns of loops.

        Raises:
            SourceError: If there are too many of them.
        """
        self.counted += steps
        if self.counted > MOST_STATEMENTS:
            message = f"the program unrolls to more than {MOST_STATEMENTS} statements"
            raise self._diagnosis.abort("limit", message, span, "use smaller parameters")

    def store(
        self, place: Place, value: core.Expression, target: ast.Target | None, span: Span | None
    ) -> None:
        """Add place <- value; a constant must be in the domain of `target`, if that is declared."""
        self.admit(value, target, span)
        self.emit(core.Assign(place, value, span=span))

    def admit(self, value: core.Expression, target: ast.Target | None, span: Span | None) -> None:
        """Check that a constant is in the domain of `target`, if that is declared."""
        declared = None if target is None else self._domains.get(target.name)
        if target is None or declared is None or not isinstance(value, core.Constant):
            return
        word, domain = declared
        if not admits(domain, value.value):
            message = f"{value.value} is not in the domain of {word} '{target.name}'"
            raise Wrong("value error", message, span, f"allowed are {describe_domain(domain)}")
