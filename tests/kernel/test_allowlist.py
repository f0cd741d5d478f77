"""What the kernel may be made of: its imports, its size, no floats."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from dipapprox import kernel

KERNEL = Path(__file__).parent.parent.parent / "dipapprox" / "kernel"
FILES = sorted(KERNEL.glob("*.py"))

MOST_LINES = 10_020
"""Of all files together: what a reader has to go through. The goal is 5,000."""

FOREIGN = {"flint"}

BLOCKED = """
import importlib.abc, sys

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {"numpy", "scipy", "mpmath", "sympy", "gmpy2", "msgspec"}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Blocked())

from dipapprox.kernel.replay import replay

machine = {
    "inputs": [["q", {"from": 0, "to": 1}]],
    "outputs": [["o", [0, 1]]],
    "reals": [],
    "adjacency": {"norm": "linf", "radius": 1},
    "body": [
        ["draw", ["cell", "x"], sys.argv[1], ["cell", "q"], [1, -1]],
        ["if", [">", ["cell", "x"], 0], [["set", ["cell", "o"], 1]], [["set", ["cell", "o"], 0]]],
    ],
}
stated = {"eps_prv": 1, "delta": "1/2"}
run = {"rule": "distributions", "from": [], "eps": 1, "inputs": None, "bits": 30}
step = {"rule": "every pair", "from": [-1], **stated}
claim = {"verdict": "DP", "eps": 1, "pairs": None, **stated}
print(replay(machine, claim, [run, step]))
foreign = {name.split(".")[0] for name in sys.modules} - sys.stdlib_module_names
foreign = {n for n in foreign if not n.startswith("_") and n != "cython_runtime"}
print(sorted(foreign), sorted(n for n in sys.modules if n.startswith("dipapprox.")), sep="\\n")
"""
"""Replays a proof where numpy and others are not installed, and tells what was loaded."""


def test_there_are_few_lines() -> None:
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in FILES) <= MOST_LINES


def test_all_files_lie_in_one_folder() -> None:
    assert set(KERNEL.rglob("*.py")) == set(FILES)


def test_modules_import_those_that_are_to_be_read_before_them() -> None:
    rows = re.findall(r"^    [a-z ]{20}((?:\w+, )*\w+),?$", kernel.__doc__ or "", re.MULTILINE)
    order = [name for row in rows for name in row.split(", ")]
    assert sorted(order) == [path.stem for path in FILES if path.stem != "__init__"]
    for place, name in enumerate(order):
        for node in ast.walk(ast.parse((KERNEL / f"{name}.py").read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "dipapprox.kernel":
                imported = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("dipapprox."):
                imported = [(node.module or "").removeprefix("dipapprox.kernel.")]
            else:
                continue
            assert set(imported) <= set(order[:place]), name


UNWANTED = {"__import__", "complex", "eval", "exec", "float", "import_module", "print", "open"}

ALLOWED = {("proofs", "import_module")}
"""What else a module may name."""


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_module_is_made_of_what_is_on_the_list(path) -> None:
    """No other imports, no floats, nothing that runs text or that `python -O` leaves out."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        where = f"line {getattr(node, 'lineno', 0)}"
        match node:
            case ast.Import(names=names):
                assert all(_may_import(each.name) for each in names), where
            case ast.ImportFrom(module=module, level=level):
                assert level == 0, f"{where}: a relative import"
                assert module and _may_import(module), f"{where}: {module}"
            case ast.Constant(value=float() | complex()):
                pytest.fail(f"{where}: the float {node.value}")
            case ast.Name(id=name) | ast.Attribute(attr=name):
                assert name not in UNWANTED or (path.stem, name) in ALLOWED, f"{where}: {name}"
            case ast.Call(func=ast.Name(id="named"), args=[name]):
                constant = isinstance(name, ast.Constant) or ast.unparse(name) == "RULES[name][0]"
                assert constant, f"{where}: a name that may come from a proof"
            case ast.BinOp(op=ast.Div(), left=ast.Constant(), right=ast.Constant()):
                pytest.fail(f"{where}: a quotient of two integers is a float")
            case ast.Assert():
                pytest.fail(f"{where}: nothing rests on an assert")
            case _:
                pass


def _may_import(module: str) -> bool:
    top = module.split(".")[0]
    return top in sys.stdlib_module_names or top in FOREIGN or module.startswith("dipapprox.kernel")


@pytest.mark.parametrize("family", ["Lap", "DGauss"])
def test_it_replays_where_only_flint_is_installed(family) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, family], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said, foreign, own = done.stdout.splitlines()
    assert said.startswith("Private(")
    assert "count=2" in said
    assert foreign == "['dipapprox', 'flint']"
    assert own.count("'dipapprox.") == own.count("'dipapprox.kernel")
