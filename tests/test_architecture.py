"""The layers of the package, read from the imports themselves."""

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "dipapprox"
# Templates are what users start from, and no part of the pipeline.
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent.name != "templates")

MODULES = {
    ".".join(("dipapprox", *p.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(
        ".__init__"
    ): p
    for p in FILES
}
"""Dotted names of all modules and packages, with their files."""

LAYERS = (
    "kernel",
    "version",
    "data_classes",
    "digits",
    "deferred",
    "source",
    "errors",
    "bundled",
    "cache",
    "limits",
    "exponentials",
    "arithmetic",
    "laws",
    "graphs",
    "flows",
    "linear",
    "language",
    "highlighting",
    "semantics",
    "automata",
    "rounds",
    "events",
    "integrals",
    "numerics",
    "composition",
    "exact",
    "pairs",
    "privacy",
    "proof_steps",
    "proofs",
    "services",
    "replays",
    "questions",
    "experiments",
    "cli",
    "schemas",
    "pytest_plugin",
)
"""A module imports from its own or an earlier layer; `__init__` and `__main__` stand above all."""

HOMES: dict[str, set[str]] = {
    "ply": {"language"},
    "igraph": {"integrals"},
    "msgspec": {"data_classes", "experiments", "schemas", "services"},
    "flint": {"kernel", "arithmetic", "laws", "numerics", "composition", "exact"},
    "rich": {"cli"},
    "shtab": {"cli"},
    "pygments": {"highlighting"},
    "distributed": {"experiments"},
    "matplotlib": {"experiments", "cli"},
    "pytest": {"pytest_plugin"},
    "bench": set(),
}
"""Foreign packages and the only layers that may know them."""


def layer_of(path: Path) -> str:
    """The layer of a file: its folder below the package, or its own name."""
    relative = path.relative_to(PACKAGE)
    return relative.parts[0].removesuffix(".py")


@dataclass
class Read:
    """What the tests ask of a file, read once.

    Attributes:
        imports: (line, dotted module) of every import.
        top: Whether each statement of the module is an import.
        hidden: Lines of imports inside functions.
        assertions: All of them.
    """

    imports: list[tuple[int, str]] = field(default_factory=list)
    top: list[bool] = field(default_factory=list)
    hidden: list[int] = field(default_factory=list)
    assertions: list[ast.Assert] = field(default_factory=list)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def read(path: Path) -> Read:
    tree = tree_of(path)
    found = Read(top=[isinstance(node, ast.Import | ast.ImportFrom) for node in tree.body])
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, inside = waiting.pop()
        match node:
            case ast.Import(names=names):
                found.imports += [(node.lineno, alias.name) for alias in names]
            case ast.ImportFrom(module=module, names=names, level=level):
                assert level == 0, f"{path}:{node.lineno}: relative import"
                for alias in names:
                    # `from dipapprox import graphs` names a module, `from x.y import f` a thing.
                    whole = f"{module}.{alias.name}"
                    known = whole if whole in MODULES else module or ""
                    found.imports.append((node.lineno, known))
            case ast.Assert():
                found.assertions.append(node)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                inside = True
            case ast.expr():
                continue  # no statement is below an expression
        if inside and isinstance(node, ast.Import | ast.ImportFrom):
            found.hidden.append(node.lineno)
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]
    return found


def test_files_are_short_and_import_downwards_only() -> None:
    for path in FILES:
        assert len(path.read_text(encoding="utf-8").splitlines()) <= 450, path
        layer = layer_of(path)
        top = layer in {"__init__", "__main__"}
        assert top or layer in LAYERS, f"{layer} is in no layer"
        for line, module in read(path).imports:
            root, _, rest = module.partition(".")
            if root in HOMES:
                assert layer in HOMES[root], f"{path}:{line}: {root} belongs in {HOMES[root]}"
            if root == "dipapprox" and not top:
                target = rest.split(".")[0]
                assert target, f"{path}:{line}: imports the package itself"
                assert LAYERS.index(target) <= LAYERS.index(layer), f"{path}:{line}: upward import"


def test_every_layer_is_there_once() -> None:
    assert sorted(LAYERS) == sorted({layer_of(path) for path in FILES} - {"__init__", "__main__"})


def test_imports_come_first() -> None:
    for path in FILES:
        imports = read(path).top
        doc = bool(imports) and not imports[0]
        last = max((k for k, yes in enumerate(imports) if yes), default=-1)
        assert all(imports[doc : last + 1]), f"{path}: imports below other statements"


def test_no_import_hides_inside_a_function() -> None:
    for path in FILES:
        assert not read(path).hidden, f"{path}:{read(path).hidden[0]}: import inside a function"


def test_the_imports_have_no_cycle() -> None:
    graph = {
        name: {m for _, m in read(path).imports if m in MODULES} for name, path in MODULES.items()
    }
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name not in done:
            for other in graph[name]:
                visit(other, (*trail, name))
            done.add(name)

    for name in MODULES:
        visit(name, ())


def test_the_check_does_not_know_what_it_checks() -> None:
    """It may know what proofs are written from: programs, not how they are judged."""
    known: set[str] = set()
    waiting = ["dipapprox.replays.check", "dipapprox.replays.budgets"]
    while waiting:
        name = waiting.pop()
        if name not in known:
            known.add(name)
            waiting += [m for _, m in read(MODULES[name]).imports if m in MODULES]
    assert "dipapprox.kernel.replay" in known
    unknown = {
        *("pairs.divergence", "pairs.maxima", "pairs.largest", "pairs.maximum"),
        *("pairs.boxes.search", "pairs.boxes.corners"),
        *("privacy.decisions.decider", "privacy.subjects", "privacy.verifier"),
        *("replays.files", "semantics.execution", "numerics.elimination.engine"),
    }
    assert {f"dipapprox.{name}" for name in unknown} <= set(MODULES)
    assert not known & {f"dipapprox.{name}" for name in unknown}


def narrows(test: ast.expr) -> bool:
    """Whether a condition only tells mypy a type: without the assertion the next line fails."""
    match test:
        case ast.BoolOp(values=parts):
            return all(map(narrows, parts))
        case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as call):
            return narrows(call)
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
        case ast.Compare(ops=[ast.Is() | ast.IsNot()], comparators=[ast.Constant(value=None)]):
            return True
        case _:
            return False


@pytest.mark.parametrize("condition", ["x == y", "x", "not x", "isinstance(x, int) and x > 0"])
def test_conditions_are_told_from_types(condition) -> None:
    tree = ast.parse(condition, mode="eval")
    assert not narrows(tree.body)


def test_no_condition_of_an_answer_is_an_assertion() -> None:
    """`python -O` leaves assertions out: what must hold raises BrokenInvariant."""
    for path in FILES:
        for node in read(path).assertions:
            assert narrows(node.test), f"{path}:{node.lineno}: an assertion that may vanish"


@pytest.mark.parametrize("path", [p for p in FILES if p.stem == "__init__"], ids=layer_of)
def test_a_folder_says_what_goes_in_what_comes_out_and_what_to_read_first(path) -> None:
    said = " ".join((ast.get_docstring(tree_of(path)) or "").split())
    assert re.search(r"\. In: .+\. Out: .+\. ", said), path
    first = re.search(r"(?:Read `[^.]*` first|To be read)\b[^.]*\.", said)
    assert first is not None, path
    inside = {each.stem for each in (*path.parent.glob("*.py"), *path.parent.glob("*/"))}
    named = re.findall(r"`(\w+)`", first[0])
    assert set(named) <= inside, f"{path}: no {sorted(set(named) - inside)}"
    assert named or path.parent.name == "kernel", "its order is tested in tests/kernel"


WORLDS = ("kernel", "schemas", "language/ast.py")
"""Where classes may be called what others are: the kernel, which knows nothing else and may share
nothing; types of files and answers, named after what they describe; trees of texts beside the core.
"""


def test_no_two_classes_have_one_name() -> None:
    homes: dict[tuple[str, str], list[str]] = {}
    for path in FILES:
        place = path.relative_to(PACKAGE).as_posix()
        world = next((each for each in WORLDS if place.startswith(each)), "")
        for node in tree_of(path).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault((world, node.name), []).append(place)
    assert {name: places for name, places in homes.items() if len(places) > 1} == {}


_WORD = re.compile(r"^\| ([a-z ]+) \| ([^|]+) \| (?:`([\w.]+)`)? ?\|$", re.MULTILINE)


def test_every_word_of_the_glossary_has_one_sense() -> None:
    page = (PACKAGE.parent / "docs" / "contributing.md").read_text(encoding="utf-8")
    rows = _WORD.findall(page.partition("## Words")[2].partition("\n## ")[0])
    words = [word for word, _, _ in rows]
    assert 55 <= len(words) <= 70
    assert words == sorted(set(words))
    homes: dict[str, set[str]] = {}
    for name, path in MODULES.items():
        module = name.removeprefix("dipapprox.")
        if not module.replace(".", "/").startswith(("kernel", "schemas", "language/ast")):
            for node in tree_of(path).body:
                if isinstance(node, ast.ClassDef):
                    homes.setdefault(node.name, set()).add(f"{module}.{node.name}")
    for word, _, home in rows:
        named = homes.get("".join(part.capitalize() for part in word.split()), set())
        assert named <= {home}, f"{word}: another class is called so: {named}"
        assert not home or home in homes.get(home.rpartition(".")[2], ()), f"{word}: no {home}"


# --- modules that are loaded late -----------------------------------------------------------------


def test_a_folder_is_no_more_than_its_modules() -> None:
    """What its `__init__.py` would do may never be done (`deferred`)."""
    for path in FILES:
        if path.stem == "__init__" and path.parent != PACKAGE:
            assert ast.get_docstring(tree_of(path)) and len(tree_of(path).body) == 1, path


def test_every_module_can_be_loaded() -> None:
    for name in MODULES:
        assert import_module(name).__doc__, name
