"""`examples`, `new` and `completion`, and the help of every command, whose examples work."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from dipapprox.bundled import BUNDLED
from dipapprox.cli import app
from dipapprox.cli.app import build_parser, join_negative_values, main
from dipapprox.cli.command import COMMANDS, WORDS, commands_of
from dipapprox.cli.completion import SHELLS, describe, script
from dipapprox.cli.examples import TEMPLATES
from tests.cases import THOROUGH, cases, template_of, text_of
from tests.cli.running import run


def test_examples_lists_every_program() -> None:
    status, text = run("examples")
    assert status == 0
    for path in BUNDLED.rglob("*.dpg"):
        assert path.stem in text


def test_an_example_is_printed_and_copied(tmp_path, capsys) -> None:
    text = text_of("svt_gauss")
    assert run("examples", "svt_gauss") == (0, text)
    assert run("examples", "svt_gauss", "--copy", str(tmp_path))[0] == 0
    assert (tmp_path / "svt_gauss.dpg").read_text() == text
    assert run("examples", "svt_gauss", "--copy", str(tmp_path))[0] == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    "template", sorted(p for p in TEMPLATES.iterdir() if p.is_file()), ids=lambda path: path.stem
)
def test_templates_have_claims_that_hold(template, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"mine{template.suffix}"
    status, text = run("new", "mine", "--template", template.stem)
    assert (status, text.splitlines()[0]) == (0, f"wrote {name}")
    (parser,) = commands_of(build_parser(["new", "--help"])).values()
    assert re.search(rf"\b{template.stem}\b", parser.format_help()), "it is listed"
    assert "FILE" not in Path(name).read_text(encoding="utf-8")
    (command,) = (line for line in text.splitlines() if line.startswith("try: "))
    status, text = run(*command.split()[2:])
    assert (status, "holds" in text) == (0, True)
    assert run("new", "mine", "--template", template.stem)[0] == 2


def test_the_words_to_complete_are_those_of_the_commands() -> None:
    parser = build_parser()
    assert WORDS.read_text(encoding="utf-8") == describe(parser), "run `make completion`"
    for command in commands_of(parser).values():
        command.description = None  # shells show the line of `--help`, which is whole
    for shell in SHELLS:
        assert run("completion", shell) == (0, script(parser, shell))


def test_a_command_without_words_is_told_how_to_get_them(monkeypatch, capsys) -> None:
    monkeypatch.setitem(COMMANDS, "brew", "make tea")
    assert main(["completion", "bash"]) == 3
    found = capsys.readouterr()
    assert found.out == "" and "no command 'brew': make completion writes it" in found.err


def test_help_is_that_of_the_loaded_command() -> None:
    loaded = commands_of(build_parser())
    for name in COMMANDS:
        (shown,) = commands_of(build_parser([name, "--help"])).values()
        assert shown.format_help() == loaded[name].format_help()


def test_completion_scripts_know_commands_flags_programs_and_tables() -> None:
    for shell in SHELLS:
        status, text = run("completion", shell)
        assert status == 0
        for word in ("verify", "eps-prv", "elimination"):
            assert word in text or shell == "tcsh"
        assert "svt_gauss" in text or shell == "powershell"
        assert "dipaut-1" in text


def test_bash_completes(tmp_path) -> None:
    script = tmp_path / "script"
    script.write_text(run("completion", "bash")[1])
    (tmp_path / "svt_mine.dpg").write_text("")
    for words, wanted in {
        "verify svt_": {"svt_gauss", "svt_laplace", "svt_mine.dpg"},
        "examples noisy_max": {"noisy_max_gauss", "noisy_max_laplace"},
        "tables dipaut-": {"dipaut-1", "dipaut-4"},
        "verify --engine n": {"nested"},
        "profile --eps-": {"--eps-prv"},
    }.items():
        asked = f"""
            source "{script}"
            COMP_WORDS=(dipapprox {words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            _shtab_dipapprox
            printf '%s\\n' "${{COMPREPLY[@]}}"
        """
        done = subprocess.run(
            ["bash", "-c", asked], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        assert wanted <= {line.strip() for line in done.stdout.splitlines()}, words


@cases(
    "words",
    "verify mi",
    "check mi",
    "sweep mi",
    "sweep grid.toml --out mi",
    "verify a.dpg --certificate mi",
    "examples svt_gauss --copy mi",
)
def test_bash_completes_files(words, tmp_path) -> None:
    (tmp_path / "script").write_text(run("completion", "bash")[1])
    (tmp_path / "mine").mkdir()
    asked = (
        f"source ./script; COMP_WORDS=(dipapprox {words})\n"
        "COMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n"
        "$(complete -p dipapprox | sed 's/.* -F \\([^ ]*\\).*/\\1/') dipapprox mi\n"
        'echo "${COMPREPLY[*]}"\n'
    )
    found = subprocess.run(
        ["bash", "-c", asked], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip().rstrip("/") == "mine", found.stderr


# --- help -----------------------------------------------------------------------------------------

EXAMPLE = re.compile(r"^  (dipapprox .*?)(?: {3,}.*)?$", re.MULTILINE)

ELSEWHERE = ("tables", "completion", "--cluster", "> ")
"""In examples that take long, need a cluster or write into the reader's home: only parsed, as are
those after the second in `make test`."""

GRID = template_of("starting-grid")


PIPELINE = template_of("starting-pipeline")


def shown(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What --help prints on a terminal of 80 columns."""
    assert app.main([*words, "--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_is_a_manual_page(command, capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(command.split(), capsys)
    assert "\nexamples:\n  dipapprox " in text and f"\n  dipapprox {command}" in text
    status = re.search(r"^exit status: 0 (.*)\Z", text, re.MULTILINE | re.DOTALL)
    assert re.search(r"\b2 (bad|not a certificate)", status[1]) and "130 interrupted" in status[1]
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "  -h, --help" in text
    if command:
        one_line = re.search(rf"^    {command}\s+(.*)$", shown([], capsys), re.MULTILINE)
        assert one_line is not None and one_line[1], "and one line in the list of commands"


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_examples_of_the_help_work(command, capsys, monkeypatch, tmp_path) -> None:
    found = EXAMPLE.findall(shown(command.split(), capsys))
    assert len(found) >= 2
    examples = [each for example in found for each in example.split(" && ")]
    monkeypatch.setenv("PYTHONPATH", str(BUNDLED.parent.parent))
    # Names occur in several folders: the outermost is meant.
    bundled = (*BUNDLED.rglob("*.dpg"), *BUNDLED.rglob("*.dipa"))
    for path in sorted(bundled, key=lambda path: -len(path.parts)):
        if path.stem != "svt_gauss" or command:
            shutil.copy(path, tmp_path)
    shutil.copy(BUNDLED.parent.parent / "examples" / "mechanisms.py", tmp_path)
    (tmp_path / "grid.toml").write_text(GRID, encoding="utf-8")
    (tmp_path / "pipeline.toml").write_text(PIPELINE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for number, example in enumerate(examples):
        words = join_negative_values(shlex.split(re.split(r" [|>] ", example)[0])[1:])
        assert words[0] in COMMANDS
        if words[-1] == "--help":
            assert app.main(words) == 0
            continue
        app.build_parser(words).parse_args(words)
        if words[0] == "examples" and words[-1] == "." and (tmp_path / "svt_gauss.dpg").exists():
            (tmp_path / "svt_gauss.dpg").unlink()
        if any(word in example for word in ELSEWHERE) or (number and not THOROUGH):
            continue
        assert app.main(words) in (0, 1), (example, capsys.readouterr())
    capsys.readouterr()
