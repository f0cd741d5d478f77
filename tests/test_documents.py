"""Every command, program and Python block of the documents is executed, and its output compared.

    ```console   $ command, then its output (commands of `OTHERS` are not run)
    ```dpg       a program; with title="name.dpg" a file that the next commands find
    ```toml      likewise
    ```python    a script; the output it prints stands in an ```output block right behind it; with
                 a title a file, which is not run

The blocks of a document run in order, in one folder that holds `programs/`. A picture that a
document shows is a file that its commands have drawn, or those of another document that shows it,
too. Refresh what the documents show with `UPDATE_DOCS=1 pytest tests/test_documents.py` and read
the diff.
"""

import linecache
import os
import re
import shlex
import shutil
from contextlib import redirect_stderr, redirect_stdout
from fractions import Fraction
from io import StringIO
from pathlib import Path
from warnings import catch_warnings, simplefilter

import pytest

import dipapprox
from dipapprox.cli.app import main
from dipapprox.cli.command import COMMANDS
from dipapprox.experiments import pictures
from dipapprox.experiments.pictures import save
from dipapprox.experiments.sweep import sweep
from dipapprox.experiments.sweep.spec import TASKS, keys_of
from dipapprox.language.load import parse_program
from tests.cases import text_of
from tests.experiments.test_tables import words

ROOT = Path(__file__).parent.parent
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
PICTURES = ROOT / "docs" / "pictures"

OTHERS = ("git ", "pip ", "pipx ", "make ", "cd ", "source ", ". ", "dask ", "pytest ")
"""Commands that set up a machine: not run here. `make` targets must exist."""

_BLOCK = re.compile(
    r"(?P<head>^```(?P<kind>console|dpg|toml|python)(?: title=\"(?P<title>[^\"]+)\")?\n)"
    r"(?P<body>.*?)^```\n(?:\n```output\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
_PICTURE = re.compile(r"\]\(((?:docs/)?pictures/[^)\s]+)\)")
_FILE = re.compile(r"[\w./-]+\.svg\b")
_BREAK = r" *│\n│ +"
"""A line ends within a frame: what is blotted out may be as long as to make it end elsewhere."""
_SECONDS = re.compile(rf"({_BREAK}| *)(< 1 ms|\d+(\.\d+)?(e-\d+)?({_BREAK}| )s\b) *│?")
_CELL_SECONDS = re.compile(r"(?<=; )\d+\.\d\d(?= │)")
_JSON_SECONDS = re.compile(r'"seconds": [\d.e-]+')
_ENCLOSURE = re.compile(r"""\[(["'])(-?\d+\.\d{12,})\1, \1(-?\d+\.\d{12,})\1\]""")
"""All digits of an enclosure: the last ones differ from machine to machine, with the order in which
sums are added."""
_LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def run_command(words: list[str]) -> str:
    """Run `dipapprox` with some words in this process; stdout, then stderr."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        main(words)
    return "".join(line.rstrip() + "\n" for line in (out.getvalue() + err.getvalue()).splitlines())


def run_script(body: str) -> str:
    """Run a script in this process; stdout."""
    out = StringIO()
    with redirect_stdout(out), catch_warnings():
        simplefilter("ignore", ResourceWarning)  # as Python does: `open(path).read()` is fine
        file = "a script of the documents"
        linecache.cache[file] = (len(body), None, body.splitlines(keepends=True), file)
        exec(compile(body, file, "exec"), {"__name__": "__main__"})
    return "".join(line.rstrip() + "\n" for line in out.getvalue().splitlines())


def execute(block: re.Match[str], folder: Path) -> str:
    """Run a block; return it with the output that it has now."""
    body = block["body"]
    match block["kind"]:
        case "console":
            command, _, _ = body.partition("\n")
            assert command.startswith("$ "), f"a console block without a command: {command}"
            command = command.removeprefix("$ ")
            if command.startswith(OTHERS):
                target = re.match(r"make (\w+)", command)
                makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
                assert target is None or f"\n{target[1]}:" in makefile
                return block[0]
            words = shlex.split(command)
            assert words[0] == "dipapprox", f"what is {words[0]}?"
            return f"{block['head']}$ {command}\n{run_command(words[1:])}```\n"
        case "python" if block["title"] is None:
            printed = run_script(body)
            if block["output"] is None:
                return block[0]
            return f"{block['head']}{body}```\n\n```output\n{printed}```\n"
        case kind:
            if block["title"] is not None:
                (folder / block["title"]).write_text(body, encoding="utf-8")
            elif kind == "dpg":
                parse_program(body, "dpg", "a program of the documents")
            return block[0]


def comparable(text: str) -> str:
    """Blot out what differs from run to run, or from machine to machine."""
    text = _CELL_SECONDS.sub("…", _SECONDS.sub("… s", text))
    return _ENCLOSURE.sub("[…]", _JSON_SECONDS.sub('"seconds": …', text))


def enclosures(text: str) -> list[tuple[Fraction, Fraction]]:
    """Return the enclosures that `comparable` blots out."""
    return [(Fraction(found[2]), Fraction(found[3])) for found in _ENCLOSURE.finditer(text)]


def agree(first: tuple[Fraction, Fraction], second: tuple[Fraction, Fraction]) -> bool:
    """Whether two enclosures may be of one number, and have most of their widths in common."""
    shared = min(first[1], second[1]) - max(first[0], second[0])
    return shared >= 0 and 10 * shared >= 9 * max(b - a for a, b in (first, second))


def alike(shown: str, now: str) -> str:
    """Return what is shown if it says the same as what there is now, otherwise the latter."""
    same = comparable(shown) == comparable(now)
    return shown if same and all(map(agree, enclosures(shown), enclosures(now))) else now


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_blocks_do_what_the_document_shows(path, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "programs").symlink_to(ROOT / "programs")
    text = path.read_text(encoding="utf-8")
    own = _pictures(path) & _named_in_blocks(path)

    def save_shown(figure: object, picture: Path) -> None:
        """Other pictures that a sweep draws, and its processes, are for other tests."""
        if picture.name in own:
            save(figure, picture)

    monkeypatch.setattr(pictures, "save", save_shown)
    monkeypatch.setattr(
        sweep,
        "run_locally",
        lambda waiting, _: ([(each, sweep.run_case(each))] for each in waiting),
    )
    fresh = _BLOCK.sub(lambda block: alike(block[0], execute(block, tmp_path)), text)
    drawn = {name: next(tmp_path.rglob(name)) for name in own}
    if os.environ.get("UPDATE_DOCS"):
        path.write_text(fresh, encoding="utf-8")
        for name, picture in drawn.items():
            shutil.copy(picture, PICTURES / name)
    assert fresh == text
    for name, picture in drawn.items():
        if not name.endswith("-map.svg"):  # those show times
            assert words(picture) == words(PICTURES / name), name


def test_enclosures_agree_up_to_their_last_digits() -> None:
    shown = "least ['0.2907692443360728', '0.2907692443401647']"
    other = "least ['0.2907692443360727', '0.2907692443401648']"
    wrong = "least ['0.2907692443400728', '0.2907692443441647']"
    assert comparable(shown) == comparable(other) == comparable(wrong)
    assert alike(shown, other) == shown
    assert alike(shown, wrong) == wrong
    (first,), (second,), (third,) = map(enclosures, (shown, other, wrong))
    assert agree(first, second)
    assert agree(first, first)
    assert not agree(first, third)
    assert not agree(first, (first[0], first[1] + 1))
    assert comparable("in [0.5, 0.6]") == "in [0.5, 0.6]", "what is rounded is compared as it is"


def test_every_picture_is_drawn_by_a_document_that_shows_it() -> None:
    shown = {name for path in DOCUMENTS for name in _pictures(path)}
    drawn = {name for path in DOCUMENTS for name in _pictures(path) & _named_in_blocks(path)}
    assert shown == drawn == {picture.name for picture in PICTURES.iterdir()}


def test_no_picture_is_white_on_the_dark_site() -> None:
    """Ours follow the reader's setting; those of matplotlib the site turns round."""
    style = (ROOT / "docs" / "assets" / "site.css").read_text(encoding="utf-8")
    (turned,) = re.findall(r'scheme="slate"\] img:is\((.*)\) \{\n +filter: invert', style)
    words = re.findall(r'src\*="([^"]+)"', turned)
    for picture in PICTURES.iterdir():
        follows = "prefers-color-scheme" in picture.read_text(encoding="utf-8")
        assert follows != any(word in picture.name for word in words), picture.name


def _pictures(path: Path) -> set[str]:
    """The names of the files that a document shows."""
    return {Path(name).name for name in _PICTURE.findall(path.read_text(encoding="utf-8"))}


def _named_in_blocks(path: Path) -> set[str]:
    """The names of the pictures that commands, or their output, mention."""
    blocks = _BLOCK.finditer(path.read_text(encoding="utf-8"))
    return {Path(name).name for block in blocks for name in _FILE.findall(block["body"])}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.stem)
def test_links_between_files_work(path) -> None:
    for link in _LINK.finditer(path.read_text(encoding="utf-8")):
        target, _, anchor = link["target"].partition("#")
        if target.startswith(("http://", "https://", "mailto:")):
            continue
        file = path.parent / target if target else path
        assert file.exists(), f"{path.name}: no file {target}"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {_slug(heading) for heading in headings}, f"no heading #{anchor}"


def _slug(heading: str) -> str:
    kept = re.sub(r"[^\w\s-]", "", heading.lower())
    return re.sub(r"[\s]+", "-", kept.strip())


def test_the_first_program_shown_is_the_one_shipped() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = re.search(r"```dpg\n(.*?)```", text, re.DOTALL)
    shipped = text_of("svt_gauss")
    code = [line for line in shipped.splitlines() if line and not line.startswith("#")]
    assert [x for x in shown[1].splitlines() if x and not x.startswith("#")] == code


def test_what_there_is_is_documented() -> None:
    """Every command, every key of a sweep's spec and every function of the library."""
    for start in ("README.md", "docs/index.md"):
        text = (ROOT / start).read_text(encoding="utf-8")
        assert not [name for name in COMMANDS if f"`{name}`" not in text], start
    sweeps = (ROOT / "docs" / "sweeps-and-tables.md").read_text(encoding="utf-8")
    keys = {key.name for task in TASKS for key in keys_of(task)}
    assert not [key for key in sorted({*keys, *TASKS}) if f"`{key}`" not in sweeps]
    pages = [ROOT / "docs" / name for name in ("python.md", "functions.md", "ci.md")]
    python = "".join(page.read_text(encoding="utf-8") for page in pages)
    functions = [name for name in dipapprox.__all__ if name.islower()]
    assert not [name for name in functions if not re.search(rf"\b{name}[(`]", python)]


def test_theorems_and_modules_are_where_the_page_says() -> None:
    page = (ROOT / "docs" / "how-it-works.md").read_text(encoding="utf-8")
    theorems = re.findall(r"\| `([\w/]+\.py)` \| `([\w/]+\.py)::(\w+)` \|$", page, re.MULTILINE)
    assert len(theorems) == sum(line.startswith("| ") for line in page.splitlines()) - 1 > 20
    for file, tests, name in theorems:
        assert (ROOT / "dipapprox" / file).exists(), file
        assert f"\ndef {name}(" in (ROOT / "tests" / tests).read_text(encoding="utf-8"), name
    proving = {
        "arithmetic",
        "automata",
        "composition",
        "events",
        "exact",
        "integrals",
        "laws",
        "numerics",
    }
    proving |= {"pairs", "privacy", "proofs", "rounds", "semantics", "services"}
    assert {file.split("/")[0] for file, _, _ in theorems} == proving
    for line in re.findall(r"^\*Modules (.*)\.\*$", page, re.MULTILINE):
        folder = Path()
        for name in re.findall(r"`([^`]+)`", line):
            # `a/b`, `c` are a/b and a/c, unless c says otherwise.
            path = Path(name) if "/" in name else folder / name
            folder = path.parent
            module = ROOT / "dipapprox" / path
            assert module.is_dir() or module.with_suffix(".py").exists(), path


def test_every_page_is_in_the_navigation() -> None:
    configuration = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (ROOT / "docs").glob("*.md"):
        assert f": {page.name}\n" in configuration
