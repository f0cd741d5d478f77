"""Random programs, made to be nasty: reassigned reals, repeated and implied tests, crossing
branches, linear combinations, conditions on inputs, named inputs, computed indices, early exits.

A program is well-formed: everything read was assigned on every path, except where asked otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from dipapprox.language import core
from dipapprox.language.elaborate import elaborate
from dipapprox.language.parser import parse
from dipapprox.laws.families import FAMILIES
from tests.cases import template_of

_HEAD = template_of("strategies-head")
_NEVER = "if one > 5 then\na, b, c, d <- Gauss(0, 1/eps)\nend\n"
"""Every name occurs, and none has a value."""

_CONTINUOUS = tuple(name for name, family in FAMILIES.items() if not family.is_discrete)
_REALS = ("a", "b", "c", "d")
_RELATIONS = ("<", "<=", ">", ">=", "=", "!=")


@dataclass
class _Budget:
    """How many branches may still be written, and choices that a run may still make."""

    branches: int = 7
    chances: int = 5


@dataclass
class _Scope:
    """What has been assigned so far on the path being written, and the counters of the loops."""

    reals: set[str] = field(default_factory=set)
    finite: set[str] = field(default_factory=lambda: {"n", "out[1]"})
    loops: tuple[str, ...] = ()

    def copy(self) -> _Scope:
        return replace(self, reals=set(self.reals), finite=set(self.finite))


@st.composite
def programs(
    draw: DrawFn,
    orders_only: bool = False,
    faulty: bool = False,
    integers: bool = False,
    choices: bool = False,
) -> core.Program:
    """Programs of up to four reals; only comparisons of reals if `orders_only`.

    Integer samples instead of reals if `integers`; random choices and loops if `choices`.
    """
    writer, scope = _Writer(draw, orders_only, faulty, integers, choices), _Scope()
    lines = [_NEVER] if faulty else []
    if not faulty:
        lines += [writer.sample(scope, name) for name in _REALS[: draw(st.integers(2, 4))]]
    if choices and draw(st.booleans()):
        lines.append(writer.loop(scope, 2))
    text = "\n".join([_HEAD, *lines, writer.block(scope, 0)])
    return elaborate(parse(text), {}, "random")


@dataclass
class _Writer:
    draw: DrawFn
    orders_only: bool
    faulty: bool
    integers: bool
    choices: bool
    budget: _Budget = field(default_factory=_Budget)

    def one_of(self, *values: str) -> str:
        return self.draw(st.sampled_from(values))

    def number(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def small(self) -> str:
        return self.one_of("-2", "-1", "0", "1", "2", *(() if self.integers else ("-1/2", "1/2")))

    def has_chances(self, scope: _Scope) -> bool:
        """Whether one more choice keeps the runs few: a loop makes it in each of two rounds."""
        return self.budget.chances >= 2 ** len(scope.loops)

    def block(self, scope: _Scope, depth: int) -> str:
        lines: list[str] = []
        for _ in range(self.number(1, 5 if depth == 0 else 3)):
            lines.append(self.statement(scope, depth))
            if lines[-1] == "exit":
                break
        return "\n".join(lines)

    def statement(self, scope: _Scope, depth: int) -> str:
        kinds = ["output", "output"] + ["copy", "sample"] * (not scope.loops)
        if not self.orders_only:
            kinds += ["finite", "named", "element"] + ["combine"] * (not scope.loops)
        may_branch = self.budget.branches > 0
        if self.choices:
            kinds += ["choose"] * 4 * self.has_chances(scope)
            kinds += ["loop"] * 6 * (depth < 3 and len(scope.loops) < 2 and may_branch)
        if depth < 4 and may_branch:
            kinds += ["branch"] * (len(kinds) + 2)
        elif depth:
            kinds.append("exit")
        match self.one_of(*kinds):
            case "output":
                simple = self.orders_only or self.draw(st.booleans())
                value = self.one_of(*(("0", "1", "2") if simple else ("p", "q", "p + q", "p * q")))
                return f"{self.one_of('out[1]', 'out[2]')} <- {value}"
            case "copy":
                return self.set_real(scope, self.real(scope))
            case "combine":
                return self.set_real(scope, self.combination(scope))
            case "sample":
                return self.sample(scope, self.one_of(*_REALS))
            case "finite":
                value, name = self.finite(scope), self.one_of("n", "m")
                scope.finite.add(name)
                return f"{name} <- {value}"
            case "named":
                return f"said <- {self.one_of('flag', 'mixed')}"
            case "element":
                if self.draw(st.booleans()):
                    return "out[p + 1] <- v[p + 1]"
                scope.finite.add("m")
                return "m <- v[p + 1]"
            case "choose":
                return self.choose(scope)
            case "loop":
                return self.loop(scope, depth)
            case "exit":
                return "exit"
            case _:
                return self.branch(scope, depth)

    def choose(self, scope: _Scope) -> str:
        """A choice with rational weights, which may depend on inputs, or with equal ones."""
        name = self.one_of("n", "m", "out[1]", "out[2]")
        self.budget.chances -= 2 ** len(scope.loops)
        values = [str(self.number(0, 3)) for _ in range(self.number(1, 3))]
        if self.draw(st.booleans()):
            values[0] = "p"
        weights = ["(1 + p)/4", *(f"{self.number(0, 1)}/4" for _ in values[1:])]
        weights[-1] = f"1 - ({' + '.join(weights[:-1]) or '0'})"
        options = [f"{value} : {weight}" for value, weight in zip(values, weights, strict=True)]
        if name in ("n", "m"):
            scope.finite.add(name)
        return f"{name} <- choose {{{', '.join(self.draw(st.sampled_from([options, values])))}}}"

    def loop(self, scope: _Scope, depth: int) -> str:
        """A loop of at most two rounds; its counter is set back behind it."""
        self.budget.branches -= 1
        counter = "jk"[len(scope.loops)]
        inner = replace(scope.copy(), loops=(*scope.loops, counter))
        inner.finite |= {counter}
        more = f" and {self.condition(inner, 1)}" if self.draw(st.booleans()) else ""
        wanted = self.has_chances(inner) and self.number(0, 2)
        chance = f"{self.choose(inner)}\n" if wanted else ""
        body = f"{counter} <- {counter} + 1\n{chance}{self.block(inner, depth + 1)}"
        return f"{counter} <- 0\nwhile {counter} < 2{more} do\n{body}\nend"

    def branch(self, scope: _Scope, depth: int) -> str:
        self.budget.branches -= 1
        condition = self.condition(scope, 0)
        then, other = scope.copy(), scope.copy()
        text = f"if {condition} then\n{self.block(then, depth + 1)}\n"
        if self.draw(st.booleans()):
            text += f"else\n{self.block(other, depth + 1)}\n"
        scope.reals |= then.reals & other.reals
        scope.finite |= then.finite & other.finite
        return f"{text}end"

    def condition(self, scope: _Scope, depth: int) -> str:
        kinds = ["reals"] * 4 + ["all", "any"] * (depth < 2)
        if not self.orders_only:
            kinds += ["finite", "named", "linear", "mixed", "parallel", "parallel"]
        relation = self.one_of(*_RELATIONS)
        match self.one_of(*kinds):
            case "all" | "any" as kind:
                parts = [self.condition(scope, depth + 1) for _ in range(self.number(1, 3))]
                return f"({(' and ' if kind == 'all' else ' or ').join(parts)})"
            case "finite":
                left, right = self.finite(scope), self.finite(scope)
            case "named":
                relation = self.one_of("=", "!=")
                left, right = self.one_of("flag yes", "flag no", "mixed none", "mixed 0").split()
            case "linear":
                left, right = self.combination(scope), self.combination(scope)
            case "parallel":
                # Few directions and many bounds, so that one test often decides another.
                first, second = sorted(self.names(scope))[:2]
                left, right = f"{self.one_of('', '-2 * ')}({first} + {second})", self.small()
            case "mixed":
                left, right = self.real(scope), self.finite(scope)
            case _:
                left, right = self.real(scope), self.real(scope)
        return f"{left} {relation} {right}"

    def set_real(self, scope: _Scope, value: str) -> str:
        name = self.one_of(*_REALS)
        scope.reals.add(name)
        return f"{name} <- {value}"

    def sample(self, scope: _Scope, name: str) -> str:
        scope.reals.add(name)
        family = self.one_of(*(("DLap",) if self.integers else _CONTINUOUS))
        return f"{name} <- {family}({self.one_of('p', '0', 'p * q')}, 1/eps)"

    def names(self, scope: _Scope) -> list[str]:
        return list(_REALS) if self.faulty else sorted(scope.reals)

    def real(self, scope: _Scope) -> str:
        return self.one_of(*self.names(scope))

    def combination(self, scope: _Scope) -> str:
        first = f"{self.one_of('-2', '-1', '1', '2')} * {self.real(scope)}"
        match self.number(0, 3):
            case 0:
                return f"{first} + {self.small()}"
            case 1:
                return f"{first} + ({self.finite(scope)}) * {self.real(scope)}"
            case 2:
                return f"{first} + {self.finite(scope)}"
            case _:
                return f"{first} + {self.small()} * {self.real(scope)}"

    def finite(self, scope: _Scope) -> str:
        atoms = (*sorted(scope.finite), "p", "q", "one")
        atom = self.one_of(*atoms)
        match self.number(0, 4):
            case 0:
                return self.small()
            case 1:
                return f"{atom} + {self.small()}"
            case 2:
                return f"{atom} * {self.one_of(*atoms)}"
            case _:
                return atom
