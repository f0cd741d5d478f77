"""The kernel with one place broken at a time: some test has to notice each.

    python -m tests.kernel.mutants [--only MODULE,…] [--part K/N] [--seconds S] [--tests WORDS]
        [--write REPORT] [--again REPORT] [--known FILE] [--list]

A mutant turns round one comparison, sign, rounding direction, bound, `and` or truth value of one
module. All tests of the kernel run once, and tell which lines they pass; then, for each mutant, a
child process has its code in place of the module's, and runs the tests that pass its line, until
one fails: first the shortest, and those that noticed others, above all of its function. `--known`
keeps what the first run told: tests run again that pass a module that has changed, or whose file,
or what tests share, has. A mutant that nobody notices has to be listed in
`equivalent_mutants.json`, with the reason why it means the same or only asks for more work.
Python 3.12 is needed: it tells cheaply which lines are run.
"""

from __future__ import annotations

import argparse
import ast
import gc
import hashlib
import importlib.abc
import importlib.util
import json
import mmap
import os
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import _lru_cache_wrapper, partial
from itertools import accumulate
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

import pytest
from hypothesis import Phase, settings

TESTS = Path(__file__).parent
ROOT = TESTS.parent.parent
KERNEL = ROOT / "dipapprox" / "kernel"

MODULES = sorted(p.stem for p in KERNEL.glob("*.py") if p.stem != "__init__")

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
        place: The number of the node, in the order of `parsed`.
        choice: Which change of that node.
        line: Where it begins.
        passed: The first and the last line of its statement: tests that pass one are concerned.
        inside: Whether it is inside of a function, whose code may be exchanged.
        words: What it is, as code.
    """

    module: str
    place: int
    choice: int
    line: int
    passed: tuple[int, int]
    inside: bool
    words: str

    def __str__(self) -> str:
        return f"{self.module}: {self.words}"

    @property
    def function(self) -> str:
        """Which function it changes."""
        return ": ".join(str(self).split(": ")[:2])


def changes(node: ast.AST) -> list[ast.AST]:
    """What a node may be replaced by."""
    found: list[ast.AST] = []
    match node:
        case ast.Compare(left=left, ops=ops, comparators=others):
            # One more or less of what limits work is allowed.
            taste = any(map(_is_limit, (left, *others)))
            for k, op in enumerate(ops):
                for new in SWAPPED.get(type(op), ())[taste:]:
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


def _is_limit(node: ast.AST) -> bool:
    """Whether this is the name of a limit of work."""
    return isinstance(node, ast.Name) and node.id.lstrip("_").split("_")[0] in LIMITS


def _is_taste(node: ast.AST, field: str) -> bool:
    """Limits of work, what is spent, words of errors, annotations: nothing rests on them."""
    match node:
        case ast.Call(func=ast.Name(id="spend" | "spend_balls")) | ast.FunctionDef(name="cost_of"):
            return True
        case ast.keyword(arg="strict"):
            return True  # lengths of what is read are looked at before: a crash is no answer
        case ast.Assign(targets=[target]):
            return _is_limit(target)
        case ast.JoinedStr() | ast.ImportFrom() | ast.Import():
            return True
    return field in {"annotation", "returns", "decorator_list"}


def mutants(module: str) -> Iterator[Mutant]:
    tree, nodes = parsed(module)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    heads = [_head(node) for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    for place, (node, parent, _, _) in enumerate(nodes):
        for choice, new in enumerate(changes(node)):
            line = getattr(node, "lineno", 0)
            around = [(first, last) for first, last in heads if first <= line <= last]
            first, last = around[-1] if around else (line, line)
            held = [f for f in functions if f.body[0].lineno <= line <= (f.end_lineno or 0)]
            name = held[-1].name if held else "module"
            before, after = (ast.unparse(ast.fix_missing_locations(n)) for n in (node, new))
            words = f"{name}: {before.splitlines()[0]} -> {after.splitlines()[0]}"
            if isinstance(node, ast.Constant):
                words += f" in {ast.unparse(parent).splitlines()[0]}"
            yield Mutant(module, place, choice, line, (first, last), bool(held), words)


def _head(node: ast.stmt) -> tuple[int, int]:
    """The lines of a statement without the statements that it holds."""
    last = node.end_lineno or node.lineno
    held = [child.lineno for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)]
    cases = [case.pattern.lineno for case in getattr(node, "cases", ())]
    return node.lineno, min([last, *(line - 1 for line in held + cases)])


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


class Runner:
    """A plugin of pytest: runs all tests once, and then, in children, those that a mutant concerns.

    The first run tells which lines of the kernel each test runs, and how long it takes. For each
    mutant a forked child puts the changed code into the functions that live, and runs the tests
    that pass its line, the shortest first, until one fails.
    """

    def __init__(self, todo: Sequence[Mutant], seconds: float, report: Report, known: Path | None):
        self._todo = todo
        self._seconds = seconds
        self._report = report
        self._known = known
        self._now: set[tuple[str, int]] = set()
        self._failed = False
        self.passed: dict[str, set[tuple[str, int]]] = {}
        self.took: dict[str, float] = {}
        self._noticed = defaultdict[str, Counter[str]](Counter)  # by module, or function

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed |= report.failed

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        apart = {f"test_{name}.py" for name in ("allowlist", "forgeries", "trusted")}
        items = [item for item in session.items if item.path.name not in apart]
        settings.register_profile("once", phases=[Phase.explicit, Phase.generate], database=None)
        settings.load_profile("once")
        self._recall()
        self._watch()
        new = [item for item in items if item.nodeid not in self.passed]
        for item, following in zip(new, [*new, None][1:], strict=True):
            self._now = set()
            sys.monitoring.restart_events()
            start = time.process_time()
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self.took[item.nodeid] = time.process_time() - start
            self.passed[item.nodeid] = self._now
            if self._failed:
                raise pytest.UsageError(f"{item.nodeid} fails without any change")
        sys.monitoring.set_events(sys.monitoring.COVERAGE_ID, 0)
        self._remember()
        gc.unfreeze()  # functions, too, are frozen before the first test
        gc.collect()
        held = [each for each in gc.get_objects() if _is_code(each)]
        gc.freeze()  # children share what they do not change
        for mutant in self._todo:
            chosen = self._chosen(mutant, items)
            survives = partial(self._survives, held) if mutant.inside else self._survives_anew
            self._report.add(mutant, survives(mutant, chosen) if chosen else "not run")
        return True

    def _recall(self) -> None:
        if self._known and self._known.exists():
            said = json.loads(self._known.read_text(encoding="utf-8"))
            now = _texts()
            for name, (seconds, lines) in said["tests"].items():
                rests_on = {"shared", name.partition("::")[0], *(module for module, _ in lines)}
                if all(said["texts"].get(each) == now.get(each) for each in rests_on):
                    self.took[name] = seconds
                    self.passed[name] = {(module, k) for module, k in lines}

    def _remember(self) -> None:
        if self._known:
            tests = {name: (took, sorted(self.passed[name])) for name, took in self.took.items()}
            said = {"texts": _texts(), "tests": tests}
            self._known.write_text(json.dumps(said), encoding="utf-8")

    def _watch(self) -> None:
        monitoring = sys.monitoring

        def line(code: CodeType, number: int) -> object:
            if code.co_filename.startswith(str(KERNEL)):
                self._now.add((Path(code.co_filename).stem, number))
            return monitoring.DISABLE

        monitoring.use_tool_id(monitoring.COVERAGE_ID, "mutants")
        monitoring.register_callback(monitoring.COVERAGE_ID, monitoring.events.LINE, line)
        monitoring.set_events(monitoring.COVERAGE_ID, monitoring.events.LINE)

    def _chosen(self, mutant: Mutant, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """Tests that pass a mutant's lines, or, outside of functions, any of its module.

        First come those that take little time, and have noticed others. All together take no longer
        than is allowed.
        """
        lines = {(mutant.module, k) for k in range(mutant.passed[0], mutant.passed[1] + 1)}
        everywhere = {(mutant.module, k) for k in range(1, 10_000)}
        asked = lines if mutant.inside else everywhere
        passing = [item for item in items if self.passed[item.nodeid] & asked]
        noticed, near = self._noticed[mutant.module], self._noticed[mutant.function]

        def order(item: pytest.Item) -> float:
            name = item.nodeid
            return self.took[name] / (1 + noticed[name] + 20 * near[name])

        passing.sort(key=order)
        spent = accumulate(self.took[item.nodeid] for item in passing)
        return passing[: max(sum(each <= self._seconds for each in spent), 1)]

    def _survives(self, held: list[object], mutant: Mutant, items: Sequence[pytest.Item]) -> str:
        """How a mutant inside of a function fares: *killed*, *endless* or *survived*."""
        place = mmap.mmap(-1, 4)

        def run() -> None:
            _swap(mutant, held)
            for k, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
                place[:] = k.to_bytes(4, "big")
                signal.setitimer(signal.ITIMER_PROF, 3 + 5 * self.took[item.nodeid])
                item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if self._failed:
                    os._exit(1)

        found = _in_child(run, 5)
        if found == "killed":
            name = items[int.from_bytes(place[:], "big")].nodeid
            self._noticed[mutant.module][name] += 1
            self._noticed[mutant.function][name] += 1
        return found

    def _survives_anew(self, mutant: Mutant, items: Sequence[pytest.Item]) -> str:
        """How a mutant outside of functions fares: the kernel is imported anew."""
        names = [item.nodeid for item in items]

        def run() -> None:
            sys.meta_path.insert(0, _Finder(f"dipapprox.kernel.{mutant.module}", changed(mutant)))
            for name in [n for n in sys.modules if n.startswith(("dipapprox", "tests"))]:
                del sys.modules[name]
            quiet = ["-x", "-q", "--assert=plain", "-p", "no:cacheprovider", "-p", "no:randomly"]
            os._exit(int(pytest.main([*quiet, f"--rootdir={ROOT}", *names])) != 0)

        return _in_child(run, 300)


def _texts() -> dict[str, str]:
    """Digests of what tests rest on: of the modules of the kernel, of their files, of the rest."""
    digests = {f"tests/kernel/{path.name}": _digest(path) for path in TESTS.glob("test_*.py")}
    digests |= {module: _digest(KERNEL / f"{module}.py") for module in MODULES}
    shared = {*TESTS.glob("*.py")} - {*TESTS.glob("test_*.py"), Path(__file__)}
    return digests | {"shared": _digest(*sorted(shared))}


def _digest(*paths: Path) -> str:
    return hashlib.sha256(b"".join([path.read_bytes() for path in paths])).hexdigest()


def _in_child(run: Callable[[], None], seconds: float) -> str:
    """*killed* if a child that runs this ends badly, *endless* if it needs more processor time."""
    child = os.fork()
    if not child:
        code = 99
        try:
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, 1)
            os.dup2(devnull, 2)
            signal.setitimer(signal.ITIMER_PROF, seconds)
            run()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        return "endless"
    return "killed" if status else "survived"


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _is_code(held: object) -> bool:
    """Whether this is a function of the kernel, or keeps what functions have returned."""
    if isinstance(held, FunctionType):
        return held.__code__.co_filename.startswith(str(KERNEL))
    return isinstance(held, _lru_cache_wrapper)


def _swap(mutant: Mutant, everything: list[object]) -> None:
    """Put the changed code into the functions of the module, wherever they are held."""
    path = str(KERNEL / f"{mutant.module}.py")
    before = _codes(compile(parsed(mutant.module)[0], path, "exec"))
    after = _codes(compile(changed(mutant), path, "exec"))
    pairs: dict[tuple[str, int, bytes], CodeType] = {}
    for old, new in zip(before, after, strict=False):
        if old.co_qualname == new.co_qualname:
            pairs[old.co_qualname, old.co_firstlineno, old.co_code] = new
    for held in everything:
        if isinstance(held, FunctionType) and held.__code__.co_filename == path:
            code = held.__code__
            found = pairs.get((code.co_qualname, code.co_firstlineno, code.co_code))
            if found is not None:
                held.__code__ = found
        elif isinstance(held, _lru_cache_wrapper):
            held.cache_clear()


EQUIVALENT_FILE = TESTS / "equivalent_mutants.json"


def equivalents() -> dict[str, str]:
    """Mutants, as words, that mean the same or only cost more, with the reason."""
    if not EQUIVALENT_FILE.exists():
        return {}
    found: dict[str, str] = json.loads(EQUIVALENT_FILE.read_text(encoding="utf-8"))
    return found


class Report:
    """What became of the mutants, written after each."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known = equivalents()
        self.counts = Counter[tuple[str, str]]()
        self.survived: list[str] = []

    def add(self, mutant: Mutant, word: str) -> None:
        if word in {"survived", "not run"}:
            word = "equivalent" if str(mutant) in self._known else word
        self.counts[mutant.module, word] += 1
        if word in {"survived", "not run"}:
            self.survived.append(str(mutant))
            print(f"{word}: line {mutant.line}: {mutant}", flush=True)
        if self._path:
            said = {" ".join(key): n for key, n in sorted(self.counts.items())}
            text = json.dumps({"counts": said, "survived": self.survived}, indent=1)
            self._path.write_text(text, encoding="utf-8")


def main(arguments: Sequence[str]) -> int:
    """Run mutants; return how many survived unexplained."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default=",".join(MODULES), help="modules of the kernel")
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--seconds", type=float, default=120, help="of tests for one mutant")
    parser.add_argument("--tests", default="", help="only these files of tests, as -k of pytest")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--again", type=Path, help="only those that survived in this report")
    parser.add_argument("--known", type=Path, help="where lines and times of tests are kept")
    asked = parser.parse_args(arguments)
    part, parts = map(int, asked.part.split("/"))
    todo = [mutant for module in asked.only.split(",") for mutant in mutants(module)]
    if asked.again:
        again = set(json.loads(asked.again.read_text(encoding="utf-8"))["survived"])
        todo = [mutant for mutant in todo if str(mutant) in again]
    todo = todo[part::parts]
    if asked.list:
        print(*(f"{mutant.line}: {mutant}" for mutant in todo), sep="\n")
        print(Counter(mutant.module for mutant in todo))
        return 0
    if not hasattr(sys, "monitoring"):
        parser.error("Python 3.12 is needed: it tells which lines are run")
    report = Report(asked.write)
    quiet = ["-q", "--capture=no", "--assert=plain", "-p", "no:cacheprovider", "-k", asked.tests]
    quiet += ["--tb=no"]
    runner = Runner(todo, asked.seconds, report, asked.known)
    code = pytest.main([*quiet, f"--rootdir={ROOT}", str(TESTS)], plugins=[runner])
    for (module, word), count in sorted(report.counts.items()):
        print(f"{module:>14} {word:<10} {count}")
    return len(report.survived) + int(code)


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
