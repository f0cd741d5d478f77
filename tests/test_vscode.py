"""Visual Studio Code and highlighting: files fit each other, the language and the errors."""

import json
import re
import runpy
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Error, Keyword, Name, Operator

import dipapprox
from dipapprox import SourceError, highlighting
from dipapprox.cli import app
from dipapprox.highlighting import DpgLexer, textmate_grammar
from dipapprox.language.lexer import KEYWORDS
from dipapprox.language.load import load
from dipapprox.version import VERSION
from tests.cases import template_of

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "editors" / "vscode"
PACKAGE = json.loads((FOLDER / "package.json").read_text(encoding="utf-8"))
SNIPPETS = json.loads((FOLDER / "snippets" / "dpg.json").read_text(encoding="utf-8"))

WRONG = template_of("vscode-wrong")

_STUB = template_of("vscode-stub")
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs node")


def extension(errors: str = "", file: str = "", **settings: object) -> dict[str, Any]:
    """What the extension makes of messages about a file, and its tasks, without an editor."""
    declared = PACKAGE["contributes"]["configuration"]["properties"]
    known = {name: each["default"] for name, each in declared.items()}
    known |= {f"dipapprox.{name}": value for name, value in settings.items()}
    words = ["node", "-e", _STUB, str(FOLDER / "extension.js"), json.dumps(known), errors, file]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _errors(folder: Path) -> str:
    file = folder / "wrong.dpg"
    file.write_text(WRONG, encoding="utf-8")
    with pytest.raises(SourceError) as raised:
        load(file, {})
    return raised.value.render()


def test_the_version_is_the_package_s() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert PACKAGE["version"] == VERSION
    assert PACKAGE["license"] == project["license"]


@pytest.mark.parametrize("name", SNIPPETS)
def test_snippets_are_programs(name) -> None:
    text = "\n".join(SNIPPETS[name]["body"]).replace("$0", "")
    values: dict[str, str] = {}
    for place in re.finditer(r"\$\{(\d+):((?:\\\}|[^}])*)\}", text):
        values.setdefault(place[1], place[2])
        assert values[place[1]] == place[2], f"two values of place {place[1]}"
    text = re.sub(r"\$\{\d+:((?:\\\}|[^}])*)\}", lambda place: place[1].replace("\\}", "}"), text)
    program = dipapprox.parse(text)
    assert program.inputs


def test_the_problem_matcher_finds_the_place_of_an_error(tmp_path) -> None:
    (matcher,) = PACKAGE["contributes"]["problemMatchers"]
    pattern = matcher["pattern"]
    lines = [re.match(pattern["regexp"], line) for line in _errors(tmp_path).splitlines()]
    (found,) = [line for line in lines if line is not None]
    assert found[pattern["file"]] == str(tmp_path / "wrong.dpg")
    assert (found[pattern["line"]], found[pattern["column"]]) == ("5", "8")
    assert "unknown name 'treshold'" in found[pattern["message"]]


@needs_node
def test_the_extension_shows_errors_at_their_place(tmp_path) -> None:
    ((severity, places, message),) = extension(_errors(tmp_path), "wrong.dpg")["diagnostics"]
    assert (severity, places) == ("error", [4, 7, 4, 15])
    assert "unknown name 'treshold'" in message
    assert "hint: " in message


UNUSED = "param K = 3\ninput q in {0, 1}\noutput out in {0, 1}\nout <- q\n"


@needs_node
def test_the_extension_tells_warnings_from_errors(tmp_path, capsys) -> None:
    file = tmp_path / "unused.dpg"
    file.write_text(UNUSED, encoding="utf-8")
    assert app.main(extension(file=str(file))["reading"]) == 0
    said = capsys.readouterr().err
    found = extension(said, "unused.dpg")["diagnostics"]
    assert found == [["warning", [0, 6, 0, 7], "the parameter 'K' is not used"]]
    (matcher,) = PACKAGE["contributes"]["problemMatchers"]
    pattern = matcher["pattern"]
    line = re.match(pattern["regexp"], said.splitlines()[0])
    assert line[pattern["severity"]] == "warning"
    assert line[pattern["message"]] == "the parameter 'K' is not used"


RIGHT = {
    "service": "state n in 0..1 <- 0\noutput out in {0, 1}\nadjacent insert\n"
    "on data d in {0, 1} do n <- d end\non query ask do out <- clamp(DLap(n, 1 / eps), 0, 1) end\n",
    "stream": "stream q in real\nadjacent linf 1\nforever do\n    read q\n"
    "    publish Lap(q, 1 / eps)\nend\n",
    "scale": "input q in {0, 1}\noutput out in real\nadjacent all\n"
    "out <- Gauss(q, sqrt(2 * log(1.25 / delta)) / eps)\n",
}
"""Programs of each kind, of which an editor has nothing to say."""


@needs_node
@pytest.mark.parametrize("kind", RIGHT)
def test_the_extension_says_nothing_of_what_is_right(kind, tmp_path, capsys) -> None:
    file = tmp_path / f"{kind}.dpg"
    file.write_text(RIGHT[kind], encoding="utf-8")
    app.main(["show", "--core", "--json", str(file)])
    assert extension(capsys.readouterr().err, file.name)["diagnostics"] == []


@needs_node
def test_the_extension_asks_about_the_claims_of_the_file() -> None:
    assert extension()["tasks"]["verify"] == ["dipapprox", "test", "${file}"]
    claim = ["--eps", "1", "--delta", "0"]
    assert extension(claim=claim)["tasks"]["verify"] == ["dipapprox", "verify", "${file}", *claim]
    commands = {words[1] for words in extension()["tasks"].values()}
    (declared,) = PACKAGE["contributes"]["taskDefinitions"]
    assert commands <= set(declared["properties"]["command"]["enum"])


def test_the_archive_holds_what_the_package_names(tmp_path) -> None:
    pack = runpy.run_path(str(FOLDER / "package.py"))["write"]
    for name in ("one.vsix", "two.vsix"):
        pack(tmp_path / name)
    assert (tmp_path / "one.vsix").read_bytes() == (tmp_path / "two.vsix").read_bytes()
    with ZipFile(tmp_path / "one.vsix") as archive:
        names = set(archive.namelist())
        manifest = archive.read("extension.vsixmanifest").decode()
    contributes = PACKAGE["contributes"]
    named = [PACKAGE["main"], *(each["path"] for each in contributes["snippets"])]
    named += [each["path"] for each in contributes["grammars"]]
    named += [each["configuration"] for each in contributes["languages"]]
    assert {f"extension/{Path(each)}" for each in named} | {"extension/package.json"} <= names
    assert f'Version="{PACKAGE["version"]}"' in manifest


# --- highlighting ---------------------------------------------------------------------------------

SHIPPED = sorted((ROOT / "programs").rglob("*.dpg"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_programs_have_no_unknown_tokens(path) -> None:
    text = path.read_text()
    tokens = list(DpgLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(value for _, value in tokens) == text
    assert not [value for kind, value in tokens if kind in Error]


def test_words_are_told_apart() -> None:
    line = "if not r >= max(v) then rT <- Gauss(q[1], 2 / eps) end  # why\n"
    kinds = {value: kind for kind, value in DpgLexer().get_tokens(line)}
    assert kinds["if"] is kinds["then"] is kinds["end"] is Keyword
    assert kinds["not"] is Operator.Word
    assert kinds["max"] is kinds["Gauss"] is Name.Builtin
    assert kinds["rT"] is kinds["q"] is Name
    assert kinds["eps"] is Name.Variable.Magic
    assert kinds["# why"] is Comment.Single


def test_every_keyword_is_highlighted() -> None:
    special = {*highlighting.DECLARATIONS, *highlighting.WORD_OPERATORS, *highlighting.CONSTANTS}
    assert special < KEYWORDS
    for word in KEYWORDS:
        (kind, _), *_ = DpgLexer().get_tokens(word)
        assert kind in Keyword or kind is Operator.Word


def test_the_entry_point_is_registered() -> None:
    assert get_lexer_by_name("dpg").name == DpgLexer.name


def test_the_textmate_grammar_is_up_to_date() -> None:
    """`python -m dipapprox.highlighting` prints a new one."""
    written = json.loads((ROOT / "editors/vscode/syntaxes/dpg.tmLanguage.json").read_text())
    assert written == textmate_grammar()
    for rule in written["patterns"]:
        re.compile(rule["match"])
