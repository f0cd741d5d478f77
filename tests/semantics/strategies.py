"""Random core programs, made to be nasty: reassigned reals, repeated and implied tests, crossing
branches, linear combinations, conditions on inputs, named inputs, computed indices, early exits.

A program is well-formed: everything read was assigned on every path, except where asked otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from dipapprox.language import core
from dipapprox.language.core import Relation
from dipapprox.laws.distribution import Scale
from dipapprox.laws.families import DISCRETE_LAPLACE, FAMILIES
from dipapprox.laws.family import Family

_INPUTS = (
    core.Cell("q[1]", "q", 1, (Fraction(0), Fraction(1))),
    core.Cell("q[2]", "q", 2, (Fraction(-1), Fraction(0), Fraction(1))),
    core.Cell("flag", "flag", None, ("yes", "no", "other")),
    core.Cell("mixed", "mixed", None, ("none", Fraction(0), Fraction(2))),
    core.Cell("one", "one", None, (Fraction(1),)),
)
_DIGITS = tuple(Fraction(i) for i in range(-6, 7))
_OUTPUTS = (
    core.Cell("out[1]", "out", 1, _DIGITS),
    core.Cell("out[2]", "out", 2, (*_DIGITS, "yes", "no", "other", "none")),
)
_CONTINUOUS = tuple(family for family in FAMILIES.values() if not family.is_discrete)
_REALS = ("a", "b", "c", "d")
_RELATIONS = st.sampled_from(list(Relation))
_SMALL = st.sampled_from([Fraction(n, d) for n in (-2, -1, 0, 1, 2) for d in (1, 2)])


@dataclass
class _Scope:
    """What has been assigned so far on the path being written, and how much may still be."""

    reals: set[str] = field(default_factory=set)
    finite: set[str] = field(default_factory=set)
    sites: list[int] = field(default_factory=lambda: [0])
    branches: list[int] = field(default_factory=lambda: [7])
    families: tuple[Family, ...] = _CONTINUOUS
    loops: tuple[str, ...] = ()  # the counters of the loops around
    chances: list[int] = field(default_factory=lambda: [5])  # choices that a run may still make

    @property
    def has_chances(self) -> bool:
        """Whether one more choice keeps the runs few: a loop makes it in each of two rounds."""
        return self.chances[0] >= 2 ** len(self.loops)

    def copy(self) -> _Scope:
        return _Scope(
            set(self.reals),
            set(self.finite),
            self.sites,
            self.branches,
            self.families,
            self.loops,
            self.chances,
        )


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
    scope = _Scope(families=(DISCRETE_LAPLACE,) if integers else _CONTINUOUS)
    body: list[core.Statement] = [_assign("out[1]", 0), _assign("out[2]", 0), _assign("n", 0)]
    scope.finite = {"n", "out[1]"}
    if not faulty:
        for name in _REALS[: draw(st.integers(2, 4))]:
            body.append(_sample(draw, scope, name))
    writer = _Writer(draw, orders_only, faulty, choices)
    if choices and draw(st.booleans()):
        body.append(writer.loop(scope, 2))
    body += writer.block(scope, 0)
    return core.Program("random", {}, _INPUTS, _OUTPUTS, tuple(body), core.Everyone())


@dataclass
class _Writer:
    draw: DrawFn
    orders_only: bool
    faulty: bool
    choices: bool = False

    def block(self, scope: _Scope, depth: int) -> list[core.Statement]:
        statements: list[core.Statement] = []
        for _ in range(self.draw(st.integers(1, 5 if depth == 0 else 3))):
            statements.append(self.statement(scope, depth))
            if isinstance(statements[-1], core.Exit):
                break
        return statements

    def statement(self, scope: _Scope, depth: int) -> core.Statement:
        kinds = ["output", "output", "copy", "sample"]
        if not self.orders_only:
            kinds += ["combine", "finite", "named", "element"]
        if self.choices:
            if scope.has_chances:
                kinds += ["choose"] * 4
            if depth < 3 and len(scope.loops) < 2 and scope.branches[0] > 0:
                kinds += ["loop"] * 6
        if scope.loops:
            kinds = [kind for kind in kinds if kind != "sample"]
        if depth < 4 and scope.branches[0] > 0:
            kinds += ["branch"] * (len(kinds) + 2)
        elif depth:
            kinds.append("exit")
        match self.draw(st.sampled_from(kinds)):
            case "output":
                return self.output(scope)
            case "copy":
                value = self.real(scope)
                return self.set_real(scope, value)
            case "combine":
                return self.set_real(scope, self.combination(scope))
            case "sample":
                name = self.draw(st.sampled_from(_REALS))
                return _sample(self.draw, scope, name)
            case "finite":
                value = self.finite(scope)
                scope.finite.add(name := self.draw(st.sampled_from(["n", "m"])))
                return core.Assign(core.Variable(name), value)
            case "named":
                named = core.Variable(self.draw(st.sampled_from(["flag", "mixed"])))
                return core.Assign(core.Variable("out[2]"), named)
            case "element":
                index = core.Sum(core.Variable("q[1]"), core.Constant(Fraction(1)))
                source = core.Element("q", 2, index)
                if self.draw(st.booleans()):
                    return core.Assign(core.Element("out", 2, index), source)
                scope.finite.add("m")
                return core.Assign(core.Variable("m"), source)
            case "choose":
                return self.choose(scope)
            case "loop":
                return self.loop(scope, depth)
            case "exit":
                return core.Exit()
            case _:
                return self.branch(scope, depth)

    def output(self, scope: _Scope) -> core.Statement:
        name = self.draw(st.sampled_from(["out[1]", "out[2]"]))
        if self.orders_only or self.draw(st.booleans()):
            return _assign(name, self.draw(st.integers(0, 2)))
        q1, q2 = core.Variable("q[1]"), core.Variable("q[2]")
        small: list[core.Expression] = [q1, q2, core.Sum(q1, q2), core.Product(q1, q2)]
        return core.Assign(core.Variable(name), self.draw(st.sampled_from(small)))

    def choose(self, scope: _Scope) -> core.Statement:
        """A choice with rational weights, which may depend on inputs."""
        name = self.draw(st.sampled_from(["n", "m", "out[1]", "out[2]"]))
        scope.sites[0] += 1
        scope.chances[0] -= 2 ** len(scope.loops)
        values = [self.draw(st.integers(0, 3)) for _ in range(self.draw(st.integers(1, 3)))]
        expressions: list[core.Expression] = [core.Constant(Fraction(v)) for v in values]
        if self.draw(st.booleans()):
            expressions[0] = core.Variable("q[1]")
        proportional = self.draw(st.booleans())
        weights: list[core.Weight] = [
            core.Constant(Fraction(self.draw(st.integers(0, 2)))) for _ in values[1:]
        ]
        # (1 + q[1] + …) / 4, and what is left
        parts = core.Sum(core.Variable("q[1]"), core.Constant(Fraction(1)))
        weights.insert(0, core.WeightProduct(parts, core.Inverse(core.Constant(Fraction(4)))))
        if not proportional:
            rest = core.Constant(Fraction(1))
            for k in range(1, len(values)):
                share = core.Constant(Fraction(self.draw(st.integers(0, 1)), 4))
                weights[k] = share
            total: core.Weight = weights[0]
            for weight in weights[1:-1]:
                total = core.WeightSum(total, weight)
            negative = core.WeightProduct(core.Constant(Fraction(-1)), total)
            weights[-1] = core.WeightSum(rest, negative) if len(values) > 1 else rest
        if name in ("n", "m"):
            scope.finite.add(name)
        options = tuple(zip(expressions, weights, strict=True))
        return core.Choose(core.Variable(name), options, proportional, scope.sites[0])

    def loop(self, scope: _Scope, depth: int) -> core.Statement:
        """A loop of at most two rounds; its counter is set back behind it."""
        scope.branches[0] -= 1
        counter = "jk"[len(scope.loops)]
        inner = scope.copy()
        inner.loops = (*scope.loops, counter)
        inner.finite |= {counter}
        bound = core.Comparison(core.Variable(counter), Relation.LESS, core.Constant(Fraction(2)))
        condition: core.Condition = bound
        if self.draw(st.booleans()):
            condition = core.All((bound, self.condition(inner, 1)))
        step = core.Sum(core.Variable(counter), core.Constant(Fraction(1)))
        wanted = inner.has_chances and self.draw(st.integers(0, 2))
        chance = [self.choose(inner)] if wanted else []
        body = [core.Assign(core.Variable(counter), step), *chance, *self.block(inner, depth + 1)]
        loop = core.While(condition, tuple(body))
        both = (_assign(counter, 0), loop)
        always = core.Comparison(
            core.Constant(Fraction(0)), Relation.EQUAL, core.Constant(Fraction(0))
        )
        return core.If(always, both, ())

    def branch(self, scope: _Scope, depth: int) -> core.Statement:
        scope.branches[0] -= 1
        condition = self.condition(scope, 0)
        then_scope, else_scope = scope.copy(), scope.copy()
        then = self.block(then_scope, depth + 1)
        otherwise = self.block(else_scope, depth + 1) if self.draw(st.booleans()) else []
        scope.reals |= then_scope.reals & else_scope.reals
        scope.finite |= then_scope.finite & else_scope.finite
        return core.If(condition, tuple(then), tuple(otherwise))

    def condition(self, scope: _Scope, depth: int) -> core.Condition:
        kinds = ["reals"] * 4
        if depth < 2:
            kinds += ["all", "any"]
        if not self.orders_only:
            kinds += ["finite", "named", "linear", "mixed", "parallel", "parallel"]
        match self.draw(st.sampled_from(kinds)):
            case "all":
                return core.All(self.parts(scope, depth))
            case "any":
                return core.Any(self.parts(scope, depth))
            case "finite":
                left, right = self.finite(scope), self.finite(scope)
            case "named":
                variable = self.draw(st.sampled_from(["flag", "mixed"]))
                relation = self.draw(st.sampled_from([Relation.EQUAL, Relation.NOT_EQUAL]))
                value = self.draw(st.sampled_from(["yes", "no", "none", Fraction(0)]))
                return core.Comparison(core.Variable(variable), relation, core.Constant(value))
            case "linear":
                left, right = self.combination(scope), self.combination(scope)
            case "parallel":
                # Few directions and many bounds, so that one test often decides another.
                first, second = sorted(self.names(scope))[:2]
                left = core.Sum(core.Variable(first), core.Variable(second))
                if self.draw(st.booleans()):
                    left = core.Product(core.Constant(Fraction(-2)), left)
                right = core.Constant(self.draw(_SMALL))
            case "mixed":
                left, right = self.real(scope), self.finite(scope)
            case _:
                left, right = self.real(scope), self.real(scope)
        return core.Comparison(left, self.draw(_RELATIONS), right)

    def parts(self, scope: _Scope, depth: int) -> tuple[core.Condition, ...]:
        count = self.draw(st.integers(0, 3))
        return tuple(self.condition(scope, depth + 1) for _ in range(count))

    def set_real(self, scope: _Scope, value: core.Expression) -> core.Statement:
        name = self.draw(st.sampled_from(_REALS))
        scope.reals.add(name)
        return core.Assign(core.Variable(name), value)

    def names(self, scope: _Scope) -> list[str]:
        return list(_REALS) if self.faulty else sorted(scope.reals)

    def real(self, scope: _Scope) -> core.Expression:
        return core.Variable(self.draw(st.sampled_from(self.names(scope))))

    def combination(self, scope: _Scope) -> core.Expression:
        first = core.Product(core.Constant(self.draw(_SMALL)), self.real(scope))
        second: core.Expression = core.Constant(self.draw(_SMALL))
        kind = self.draw(st.integers(0, 3))
        if kind == 1:
            second = core.Product(self.finite(scope), self.real(scope))
        elif kind == 2:
            second = self.finite(scope)
        elif kind == 3:
            second = self.real(scope)
        return core.Sum(first, second)

    def finite(self, scope: _Scope) -> core.Expression:
        atoms: list[core.Expression] = [core.Variable(n) for n in sorted(scope.finite)]
        atoms += [core.Variable("q[1]"), core.Variable("q[2]"), core.Variable("one")]
        atom = self.draw(st.sampled_from(atoms))
        match self.draw(st.integers(0, 4)):
            case 0:
                return core.Constant(self.draw(_SMALL))
            case 1:
                return core.Sum(atom, core.Constant(self.draw(_SMALL)))
            case 2:
                return core.Product(atom, self.draw(st.sampled_from(atoms)))
            case _:
                return atom


def _sample(draw: DrawFn, scope: _Scope, name: str) -> core.Draw:
    scope.reals.add(name)
    scope.sites[0] += 1
    q1: core.Expression = core.Variable("q[1]")
    means = [q1, core.Constant(Fraction(0)), core.Product(q1, core.Variable("q[2]"))]
    family = draw(st.sampled_from(scope.families))
    scale = Scale(Fraction(1), -1)
    mean = draw(st.sampled_from(means))
    return core.Draw(core.Variable(name), family, mean, scale, scope.sites[0])


def _assign(name: str, value: int) -> core.Assign:
    return core.Assign(core.Variable(name), core.Constant(Fraction(value)))
