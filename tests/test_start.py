"""What a command loads and passes: what it does not need stays on disk.

A file is passed if one of its functions is called or one of its classes is defined, a class if one
of its functions is called. The ceilings are what was reached: who raises one says what for.
"""

import ast
import inspect
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from time import sleep

import pytest

import dipapprox
from dipapprox.cli.app import main
from dipapprox.deferred import LateImports
from dipapprox.questions import claims
from tests.cases import cases

ROOT = Path(__file__).parent.parent

_LOADED = """
from dipapprox.deferred import Unloaded
print(*[name for name, module in sys.modules.items() if type(module) is not Unloaded])
"""

_ASKED = """
import sys
import dipapprox.deferred
from dipapprox.cli.app import main
status = max(main(command.split("\t")) for command in sys.argv[1:])
"""


def said_by(code: str, *words: str) -> str:
    """What a process of its own prints."""
    command = [sys.executable, "-c", code, *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def loaded_by(*commands: Sequence[str]) -> set[str]:
    """The modules in memory after commands that all succeed, and the folders that they are in."""
    code = _ASKED + _LOADED + "sys.exit(status)"
    return with_folders(said_by(code, *map("\t".join, commands)))


def with_folders(said: str) -> set[str]:
    names = said.splitlines()[-1].split()
    folders = (name.rpartition(".")[0] for name in names if name.startswith("dipapprox."))
    return {*names, *folders}


VERIFY = (
    "verify", "programs/svt_gauss.dpg", "--eps", "0.5", "--eps-prv", "1.24", "--delta", "0.01",
)  # fmt: skip


MOST_MODULES = 91
"""Of ours, folders left out: fewer is better, more is a reason to look at what is loaded."""


def test_a_verification_loads_what_it_needs_only() -> None:
    found = loaded_by((*VERIFY, "--json"))
    assert "dipapprox.numerics.elimination.engine" in found
    assert "dipapprox.cli.asking" in found
    unneeded = (
        "dipapprox.cli.explain",
        "dipapprox.replays",
        "dipapprox.exact.laplace.algebra",
        "dipapprox.exact.signs.values",
        "dipapprox.experiments",
        "dipapprox.highlighting",
        "dipapprox.language.printer",
        "dipapprox.language.syntax_errors",
        "dipapprox.laws.exponential",
        "dipapprox.linear.zones",
        "dipapprox.semantics.turns",
        "dipapprox.integrals.optimizer",
        "dipapprox.numerics.algebras.convolution",
        "dipapprox.numerics.nested.engine",
        "dipapprox.numerics.parallel",
        "dipapprox.pairs.products.losses",
        "dipapprox.privacy.decisions",
        "dipapprox.privacy.exact_pairs",
        "dipapprox.privacy.intervals.verifier",
        "dipapprox.privacy.products",
        "dipapprox.privacy.profiles.profile_result",
        "dataclasses",
        "difflib",
        "html",
        "igraph",
        "importlib.metadata",
        "matplotlib",
        "multiprocessing",
        "pygments",
        "rich",
        "scipy",
        "shtab",
    )
    assert all(find_spec(name) for name in unneeded if name.startswith("dipapprox"))
    assert sorted(found & set(unneeded)) == []
    ours = [name for name in found if name.startswith("dipapprox.")]
    folders = {name.rpartition(".")[0] for name in ours}
    assert len(set(ours) - folders) <= MOST_MODULES


def test_help_loads_no_command() -> None:
    found = loaded_by(("verify", "--help"), ("prove", "--help"))
    heavy = ("dipapprox.cli.asking", "dipapprox.language", "dipapprox.questions", "numpy")
    assert not found & set(heavy)


def test_people_see_a_layout() -> None:
    assert "rich" in loaded_by(VERIFY)


def test_programs_that_read_json_get_it_without_a_layout(tmp_path) -> None:
    certificate = str(tmp_path / "certificate.json")
    program = "programs/svt_gauss.dpg"
    layout = {"matplotlib", "pygments", "rich", "shtab"}
    found = loaded_by(
        ("profile", program, "--eps", "1/2", "--eps-prv", "1", "--json"),
        ("probability", program, "--eps", "1/2", "--input", "0,1", "--json"),
        ("calibrate", program, "--eps-prv", "1", "--delta", "0.01", "--width", "0.1", "--json"),
        ("decide", "programs/dipc/svt1.dpg", "--json"),
    )
    assert {f"dipapprox.questions.{name}" for name in ("profile", "decide")} <= found
    assert not found & {"dataclasses", *layout}
    found = loaded_by(
        ("decide", "programs/dipc/svt1.dpg", "--certificate", certificate, "--json"),
        ("check", certificate, "--json"),
        ("prove", "programs/automata/svt.dipa", "--json"),
    )
    assert {"dipapprox.cli.check", "dipapprox.kernel.replay"} <= found
    assert not found & layout


@cases("words", ("--version",), ("--help",), ("completion", "bash"), ("completion", "zsh"))
def test_what_is_said_of_all_commands_loads_none(words) -> None:
    found = loaded_by(words)
    heavy = ("dipapprox.language", "dipapprox.cli.asking", "dataclasses", "flint", "numpy", "rich")
    assert not found & set(heavy)


def test_a_module_is_loaded_when_something_in_it_is_used() -> None:
    code = """
import dipapprox.deferred
from dipapprox.services import families
print(type(families).__name__, families.Families.__name__, type(families).__name__)
"""
    assert said_by(code).split() == ["Unloaded", "Families", "module"]


def test_threads_wait_for_a_module_that_is_being_loaded() -> None:
    loaded = []

    class Slow(LateImports):
        def load(self, module) -> None:
            loaded.append(module.__name__)
            sleep(0.05)
            assert not hasattr(module, "answer")  # it may ask itself
            module.__dict__["answer"] = 42

    spec = ModuleSpec("dipapprox.slow", Slow("dipapprox.slow", ""))
    slow = module_from_spec(spec)
    spec.loader.exec_module(slow)
    with ThreadPoolExecutor(8) as threads:
        found = [threads.submit(lambda: slow.answer) for _ in range(8)]
    assert {each.result() for each in found} == {42}
    assert loaded == ["dipapprox.slow"]


def test_pytest_loads_no_module_at_once() -> None:
    """Though it rewrites the assertions of packages that have plugins."""
    assert type(claims.__spec__.loader) is LateImports


def test_pytest_looks_for_claims_without_the_rest() -> None:
    code = """
import sys
from pathlib import Path
from dipapprox import pytest_plugin
assert pytest_plugin.claim_lines.has_claims(Path("examples/mechanisms.py"))
"""
    found = with_folders(said_by(code + _LOADED))
    ours = {name for name in found if name.startswith("dipapprox.")}
    assert "dipapprox.questions.claim_lines" in ours and len(ours) <= 10
    assert "flint" not in found


def test_a_module_can_be_changed_before_it_is_loaded() -> None:
    code = """
import dipapprox.deferred
from dipapprox.services import families
families._LARGEST = 7
print(families._LARGEST, families.Families.__name__)
"""
    assert said_by(code).split() == ["7", "Families"]


def test_a_module_that_is_looked_at_is_loaded() -> None:
    code = "import dipapprox; dipapprox.Options; from dipapprox.services import families as m"
    assert said_by(f"{code}; print('Families' in dir(m))").strip() == "True"


def test_the_python_functions_load_what_they_need_only() -> None:
    code = "import sys, dipapprox; dipapprox.parse, dipapprox.verify"
    found = with_folders(said_by(code + _LOADED))
    assert "dipapprox.questions.verify" in found
    layers = ("automata", "composition", "proofs", "services", "replays")
    assert not found & {"rich", *(f"dipapprox.{layer}" for layer in layers)}


# --- the walk to an answer ------------------------------------------------------------------------


_PASSED = """
import io
import sys

codes = set()


def note(frame, event, _):
    if event == "call":
        codes.add(frame.f_code)


sys.setprofile(note)
import dipapprox.deferred
from dipapprox.cli.app import main

out, sys.stdout = sys.stdout, io.StringIO()
status = main(sys.argv[2:])
sys.setprofile(None)
files, classes = set(), set()
for code in codes:
    path = code.co_filename
    if not path.startswith(sys.argv[1]) or code.co_name == "<module>":
        continue
    files.add(path)
    function = code.co_flags & 2  # has variables of its own, which bodies of classes do not
    name, dot, _ = code.co_qualname.split(".<locals>")[0].rpartition(".")
    if function and dot:
        classes.add((path, name))
print(status, len(files), len(classes), file=out)
"""


def walk(*words: str) -> tuple[int, int]:
    """The files and classes that a command passes."""
    passed = said_by(_PASSED, str(ROOT / "dipapprox") + os.sep, *words)
    status, files, classes = map(int, passed.split())
    assert status in (0, 1)
    return files, classes


CLAIM = ("verify", "programs/svt_gauss.dpg", "--eps", "0.5", "--delta", "0.01")


@cases(
    "words, most_files, most_classes",
    # A family of noise is a file, and so are mirror images. Verdicts may be replayed; tiers,
    # progress, flags and selections of pairs stand by themselves, for checks to load less;
    # so do what is asked, about what, and who gave an end. Closed forms and enclosures share
    # pieces of functions, variables of systems, brackets of δ. Records have a type of their own,
    # as have partitions that are refined. Two classes load modules late.
    # Decisions read real inputs. Listed pairs are bounded in one way with all others.
    (CLAIM, 92, 79),
    (("profile", *CLAIM[1:4], "--eps-prv", "0.5"), 111, 85),
    (("decide", "programs/dipc/svt1.dpg"), 115, 82),
)
def test_few_files_and_classes_are_passed(words, most_files, most_classes) -> None:
    files, classes = walk(*words)
    assert files <= most_files
    assert classes <= most_classes


def test_a_check_passes_fewer(tmp_path) -> None:
    certificate = str(tmp_path / "certificate.json")
    assert main([*CLAIM, "--certificate", certificate]) in (0, 1)
    files, classes = walk("check", certificate)
    assert files <= 60
    # Results of replays are told apart; what statements do, and what runs are; late modules.
    assert classes <= 40


# --- the public names -----------------------------------------------------------------------------

INIT = Path(dipapprox.__file__)


def test_type_checkers_see_the_names_where_they_are_loaded_from() -> None:
    tree = ast.parse(INIT.with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    seen = [(each.module, name.name, name.asname) for each in imports for name in each.names]
    assert len(seen) == len(tree.body) == len(dipapprox.__all__), "a name has one home"
    assert seen == [(dipapprox._HOME_OF[name], name, name) for _, name, _ in seen]


def test_every_public_name_is_what_its_module_defines() -> None:
    for name in dipapprox.__all__:
        assert getattr(dipapprox, name).__name__ == name
    assert set(dipapprox.__all__) <= set(dir(dipapprox))


def test_everything_public_is_documented_and_in_the_reference() -> None:
    page = (INIT.parent.parent / "docs" / "reference.md").read_text(encoding="utf-8")
    shown = [line.split(".")[1] for line in page.splitlines() if line.startswith("::: ")]
    assert sorted(shown) == sorted(dipapprox.__all__)
    for name in dipapprox.__all__:
        thing = getattr(dipapprox, name)
        assert inspect.getdoc(thing), name
        for part, value in vars(thing).items() if isinstance(thing, type) else ():
            if not part.startswith("_") and (callable(value) or isinstance(value, property)):
                assert inspect.getdoc(value), f"{name}.{part}"


def test_other_names_are_refused() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'verrify'"):
        _ = dipapprox.verrify
