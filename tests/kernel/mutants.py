"""The kernel with one place broken at a time: some test has to notice each.

    python -m tests.kernel.mutants [--only FILE,…] [--part K/N] [--seconds S] [--quick]
        [--write REPORT]

A mutant turns round one comparison, sign, rounding direction, bound, `and` or truth value of one
module. It is made in memory: a child process imports the kernel anew, with that module in its
place, and runs the kernel's tests, those that are nearest first, until one fails or its time is up.
A mutant that nobody notices has to be listed in `EQUIVALENT`, with the reason why it means the
same or only asks for more work.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.abc
import importlib.util
import io
import json
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

TESTS = Path(__file__).parent
KERNEL = TESTS.parent.parent / "dipapprox" / "kernel"

BOUNDS_FIRST = (
    "rules",
    "laws",
    "panels",
    "taylor",
    "lattice",
    "sampled",
    "signs",
    "exact",
    "exponentials",
    "balls",
    "measures",
    "integration",
    "forward",
    "loops",
    "walk",
    "nodes",
    "evaluate",
    "machine",
    "replay",
    "motion",
    "sets",
    "reading",
    "judgements",
    "grid",
    "budget",
    "expressions",
    "paths",
    "rounds",
    "regions",
    "quiet",
    "potential",
    "runs",
    "rays",
    "chances",
    "services",
    "couplings",
    "traces",
    "budgets",
    "losses",
    "mechanisms",
    "compositions",
    "parts",
)

NEAREST = {
    "laws": ["laws", "lattice", "panels"],
    "panels": ["panels", "sums"],
    "taylor": ["taylor"],
    "grid": ["panels"],
    "sampled": ["panels", "lattice"],
    "lattice": ["lattice", "sums"],
    "nodes": ["panels", "lattice"],
    "evaluate": ["panels", "lattice"],
    "balls": ["panels"],
    "signs": ["signs"],
    "excesses": ["ratios", "published"],
    "rules": ["asks", "throughout"],
    "expressions": ["asks", "throughout"],
    "measures": ["sums", "lattice", "loops"],
    "integration": ["sums", "lattice", "loops"],
    "published": ["published"],
    "exact": ["loops", "throughout"],
    "exponentials": ["signs", "loops", "throughout"],
    "motion": ["motion", "real_inputs"],
    "sets": ["motion", "real_inputs", "shrinking"],
    "walk": ["motion", "potentials"],
    "adjacency": ["asks"],
    "budget": ["work", "asks"],
    "paths": ["potentials"],
    "rounds": ["potentials"],
    "regions": ["regions", "potentials"],
    "quiet": ["quiet_pairs", "quiet"],
    "potential": ["potentials", "quiet"],
    "runs": ["potentials", "rays"],
    "rays": ["potentials", "rays"],
    "chances": ["rays"],
    "services": ["couplings", "services"],
    "couplings": ["couplings", "services"],
    "traces": ["couplings", "services"],
    "replay": ["asks", "parts", "compositions", "real_inputs"],
    "budgets": ["budgets", "potentials", "services"],
    "losses": ["compositions", "parts"],
    "mechanisms": ["mechanisms", "compositions"],
    "compositions": ["compositions"],
    "parts": ["parts"],
}
"""Of a module, the tests that know it best; then come all of them."""

LIMITS = {"MOST", "LARGEST", "LONGEST", "DEEPEST", "SMALLEST", "TOO", "BETWEEN", "ENDLESS"}
"""How names of limits of work begin: their values are matters of taste."""

SWAPPED: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.Add,),
    ast.Div: (ast.Mult,),
    ast.FloorDiv: (ast.Mult,),
    ast.LShift: (ast.RShift,),
    ast.RShift: (ast.LShift,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.USub: (ast.UAdd,),
    ast.Not: (ast.UAdd,),
}

RENAMED = {
    one: other
    for pair in [
        ("lower_at", "upper_at"),
        ("lower", "upper"),
        ("min", "max"),
        ("floor", "ceil"),
        ("below", "above"),
        ("low", "high"),
        ("left", "right"),
        ("first", "last"),
        ("from_left", "from_right"),
    ]
    for one, other in [pair, pair[::-1]]
}


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change.

    Attributes:
        module: The name of the file.
        place: The number of the node, in the order of `parsed`; below 0 nothing is changed.
        choice: Which change of that node.
        line: Where it is.
        words: What it is, as code.
    """

    module: str
    place: int
    choice: int
    line: int
    words: str

    def __str__(self) -> str:
        return f"{self.module}: {self.words}"


def changes(node: ast.AST) -> list[ast.AST]:
    """What a node may be replaced by."""
    found: list[ast.AST] = []
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            for k, op in enumerate(ops):
                for new in SWAPPED.get(type(op), ()):
                    changed = [*ops[:k], new(), *ops[k + 1 :]]
                    found.append(ast.Compare(left=left, ops=changed, comparators=others))
        case ast.BinOp(left=left, op=op, right=right):
            for new in SWAPPED.get(type(op), ()):
                found.append(ast.BinOp(left=left, op=new(), right=right))
        case ast.BoolOp(op=op, values=values):
            for new in SWAPPED.get(type(op), ()):
                found.append(ast.BoolOp(op=new(), values=values))
        case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
            found.append(operand)
        case ast.AugAssign(target=target, op=op, value=value):
            for new in SWAPPED.get(type(op), ()):
                found.append(ast.AugAssign(target=target, op=new(), value=value))
        case ast.Constant(value=bool(value)):
            found.append(ast.Constant(value=not value))
        case ast.Constant(value=int(value)):
            found.append(ast.Constant(value=value + 1))
            if value:
                found.append(ast.Constant(value=value - 1))
        case ast.Name(id=name, ctx=ast.Load()) if name in RENAMED:
            found.append(ast.Name(id=RENAMED[name], ctx=ast.Load()))
        case ast.Attribute(value=value, attr=name, ctx=ast.Load()) if name in RENAMED:
            found.append(ast.Attribute(value=value, attr=RENAMED[name], ctx=ast.Load()))
        case ast.IfExp(test=test, body=body, orelse=orelse):
            found.append(ast.IfExp(test=test, body=orelse, orelse=body))
        case ast.If(test=test, body=[ast.Raise()], orelse=[]):
            found.append(ast.Pass())
    return found


def parsed(module: str) -> tuple[ast.Module, list[tuple[ast.AST, ast.AST, str, int]]]:
    """The tree of a module, and its nodes, each with its parent, field and index (or -1)."""
    tree = ast.parse((KERNEL / f"{module}.py").read_text(encoding="utf-8"))
    found: list[tuple[ast.AST, ast.AST, str, int]] = []
    waiting: list[ast.AST] = [tree]
    while waiting:
        parent = waiting.pop(0)
        for field, value in ast.iter_fields(parent):
            for index, child in enumerate(value if isinstance(value, list) else [value]):
                if not isinstance(child, ast.AST) or _is_taste(child, field):
                    continue
                waiting.append(child)
                found.append((child, parent, field, index if isinstance(value, list) else -1))
    return tree, found


def _is_taste(node: ast.AST, field: str) -> bool:
    """Limits of work, words of errors, annotations, docstrings: nothing rests on them."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name.lstrip("_").split("_")[0] in LIMITS
        case ast.JoinedStr() | ast.ImportFrom() | ast.Import():
            return True
    return field in {"annotation", "returns", "decorator_list"}


def mutants(module: str) -> Iterator[Mutant]:
    """All mutants of a module."""
    _, nodes = parsed(module)
    for place, (node, parent, _, _) in enumerate(nodes):
        if isinstance(node, ast.AST):
            for choice, new in enumerate(changes(node)):
                line = getattr(node, "lineno", 0)
                before, after = (ast.unparse(ast.fix_missing_locations(n)) for n in (node, new))
                words = f"{before.splitlines()[0]} -> {after.splitlines()[0]}"
                if isinstance(node, ast.Constant):
                    words += f" in {ast.unparse(parent).splitlines()[0]}"
                yield Mutant(module, place, choice, line, f"{_function(module, line)}: {words}")


def _function(module: str, line: int) -> str:
    tree = ast.parse((KERNEL / f"{module}.py").read_text(encoding="utf-8"))
    name = "module"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno <= line <= (node.end_lineno or 0):
            name = node.name
    return name


def changed(mutant: Mutant) -> ast.Module:
    """The tree of the module with the change."""
    tree, nodes = parsed(mutant.module)
    node, parent, field, index = nodes[mutant.place]
    new = ast.copy_location(changes(node)[mutant.choice], node)
    if index < 0:
        setattr(parent, field, new)
    else:
        getattr(parent, field)[index] = new
    return ast.fix_missing_locations(tree)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module of the kernel from a tree."""

    def __init__(self, name: str, tree: ast.Module) -> None:
        self._name = name
        self._tree = tree

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        return importlib.util.spec_from_loader(name, self) if name == self._name else None

    def exec_module(self, module: ModuleType) -> None:
        exec(compile(self._tree, f"<{self._name}>", "exec"), module.__dict__)


def files_for(module: str, quick: bool) -> list[str]:
    """Files of tests, the nearest first."""
    everything = sorted(p.stem.removeprefix("test_") for p in TESTS.glob("test_*.py"))
    # Those take longest, and compare with the verifier, which has modules of the old kernel.
    apart = {"allowlist", "forward", "forgeries", "mutants", "trusted"}
    ordered = ["truths", *NEAREST.get(module, []), *([] if quick else everything)]
    return [
        str(TESTS / f"test_{name}.py")
        for name in dict.fromkeys(ordered)
        if name in everything and name not in apart
    ]


def _child(mutant: Mutant, files: Sequence[str]) -> None:
    """Run tests with the mutant; the process ends with 0 if nobody notices."""
    import pytest

    tree = parsed(mutant.module)[0] if mutant.place < 0 else changed(mutant)
    sys.meta_path.insert(0, _Finder(f"dipapprox.kernel.{mutant.module}", tree))
    for name in [n for n in sys.modules if n.startswith("dipapprox.kernel")]:
        del sys.modules[name]
    code = 1
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            quiet = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "--no-header"]
            code = pytest.main([*quiet, f"--rootdir={TESTS.parent.parent}", *files])
    finally:
        os._exit(min(int(code), 99))


def noticed(mutant: Mutant, seconds: float, quick: bool) -> bool:
    """Whether a test fails, or does not end in time."""
    child = os.fork()
    if not child:
        try:
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            os.dup2(devnull, 2)
            _child(mutant, files_for(mutant.module, quick))
        finally:
            os._exit(98)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status != 0
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


EQUIVALENT_FILE = TESTS / "equivalent_mutants.json"


def equivalents() -> dict[str, str]:
    """Mutants, as words, that mean the same or only cost more, with the reason."""
    if not EQUIVALENT_FILE.exists():
        return {}
    found: dict[str, str] = json.loads(EQUIVALENT_FILE.read_text(encoding="utf-8"))
    return found


def main(arguments: Sequence[str]) -> int:
    """Run mutants; return how many survived unexplained."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(BOUNDS_FIRST))
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--write", type=Path)
    parser.add_argument("--quick", action="store_true", help="only the tests that know it best")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--again", type=Path, help="only those that survived in this report")
    asked = parser.parse_args(arguments)
    part, parts = map(int, asked.part.split("/"))
    known = equivalents()
    modules = [name for name in asked.only.split(",") if (KERNEL / f"{name}.py").exists()]
    todo = [mutant for module in modules for mutant in mutants(module)]
    if asked.again:
        again = set(json.loads(asked.again.read_text(encoding="utf-8"))["survived"])
        todo = [mutant for mutant in todo if str(mutant) in again]
    todo = todo[part::parts]
    if asked.list:
        print(*(f"{mutant.line}: {mutant}" for mutant in todo), sep="\n")
        print(Counter(mutant.module for mutant in todo))
        return 0
    import pytest  # noqa: F401 (once here, not in every child)

    if noticed(Mutant(modules[0], -1, 0, 0, ""), 10 * asked.seconds, asked.quick):
        print("the tests fail without any change")
        return 1
    survived, counts = [], Counter[tuple[str, str]]()
    for mutant in todo:
        if str(mutant) in known:
            counts[mutant.module, "equivalent"] += 1
        elif noticed(mutant, asked.seconds, asked.quick):
            counts[mutant.module, "killed"] += 1
        else:
            counts[mutant.module, "survived"] += 1
            survived.append(str(mutant))
            print(f"survived: line {mutant.line}: {mutant}", flush=True)
        if asked.write:
            said = {" ".join(key): n for key, n in sorted(counts.items())}
            asked.write.write_text(json.dumps({"counts": said, "survived": survived}, indent=1))
    for (module, word), count in sorted(counts.items()):
        print(f"{module:>14} {word:<10} {count}")
    return len(survived)


if __name__ == "__main__":
    random.seed(0)
    sys.exit(min(main(sys.argv[1:]), 1))
