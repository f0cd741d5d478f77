"""Pages for reviewers, reports for people, and programs explained: whole HTML, whole words."""

import copy
import json
import os
import re
from collections.abc import Iterator
from fractions import Fraction
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import dipapprox
from dipapprox import Enclosure, LimitReached, Options, Verdict
from dipapprox.cli import review
from dipapprox.cli.app import build_parser
from dipapprox.cli.command import limits_of
from dipapprox.cli.explanation import explain
from dipapprox.cli.output import Output
from dipapprox.cli.report import report
from dipapprox.cli.show import machine_text
from dipapprox.cli.sweep import summary_report
from dipapprox.experiments.sweep.ledger import FinishedCase, RecordedAnswer, read_line
from dipapprox.experiments.sweep.spec import cases_of, read_spec, record
from dipapprox.experiments.sweep.summary import groups_of
from dipapprox.experiments.sweep.sweep import run_case
from dipapprox.integrals.strategy import Strategy
from dipapprox.kernel.errors import BadProof
from dipapprox.language.elaborate import elaborate
from dipapprox.language.load import load, read_source
from dipapprox.language.parser import parse
from dipapprox.numerics.nested.engine import enclose_plan
from dipapprox.privacy.description import Description, ProgramText, Table, Tone
from dipapprox.privacy.page import WrittenCertificate, page
from dipapprox.proof_steps.liveness import machine_json
from dipapprox.proof_steps.machines import rounds_json
from dipapprox.questions import kinds
from dipapprox.questions.verify import Verify
from dipapprox.semantics.execution import execute
from tests.cases import cases, part, text_of
from tests.cli.conftest import SIGNED, SVT
from tests.cli.running import run, run_json

VOID = {"meta", "br", "hr", "link", "img"}

ASKED = ("svt_gauss", "--eps", "1/2", "--eps-prv", "1/10")


class Balanced(HTMLParser):
    """Checks that elements close in order, and collects what a page says and refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count: dict[str, int] = {}
        self.words: list[str] = []
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.count[tag] = self.count.get(tag, 0) + 1
        self.references += [str(v) for name, v in attrs if name in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def parsed(text: str) -> Balanced:
    found = Balanced()
    found.feed(text)
    found.close()
    assert not found.open
    assert not found.references and "script" not in found.count
    outside = text.replace("http://www.w3.org/2000/svg", "")
    assert "://" not in outside and "url(" not in outside and "@import" not in outside
    return found


def said(path: Path) -> tuple[Balanced, str]:
    found = parsed(path.read_text(encoding="utf-8"))
    return found, "".join(found.words)


def test_a_violated_claim(tmp_path) -> None:
    out, certificate = tmp_path / "svt.html", tmp_path / "svt.json"
    words = ("--delta", "1/100", "--report", str(out), "--certificate", str(certificate))
    assert run("verify", *ASKED, *words)[0] == 1
    found, words_of = said(out)
    assert "svt_gauss: the claim is violated" in words_of
    assert "(ε_prv, δ) = (1/10, 1/100), program run at ε = 1/2" in words_of
    assert "for inputs q[1..2] in {0, 1}, adjacent linf 1" in words_of
    assert "rT <- Gauss(T, 2 * Delta / eps)" in words_of
    assert 'class="kd">param' in out.read_text(encoding="utf-8")
    digest = json.loads(certificate.read_text(encoding="utf-8"))["digest"]
    assert digest in words_of and "dipapprox check svt.json" in words_of
    # The witness as bars, the profile with the claim.
    assert found.count["figure"] == 2 and found.count["rect"] >= 4
    assert found.count["circle"] == 2 and "the claim" in found.words  # and its name


@pytest.mark.parametrize(("eps_prv", "delta"), [("1/10", "1/100"), ("1/100", "0"), ("3", "1/100")])
def test_the_profile_goes_beyond_the_claim_and_where_it_meets_its_delta(eps_prv, delta) -> None:
    program = dipapprox.parse(Path("svt_gauss"))
    verdict = dipapprox.verify(program, eps="1/2", eps_prv=eps_prv, delta=delta)
    assert isinstance(verdict, Verdict)
    pairs = kinds.pairs("all", "pairs")
    (chart,) = review.profile_of(program, pairs, verdict, Options())
    ((_, points),) = chart.lines
    assert points[0][1].lower > Fraction(delta) >= points[-1][1].upper
    assert points[-1][0] > Fraction(eps_prv)


def test_the_profile_says_why_it_is_above_the_pair_of_a_verdict(tmp_path) -> None:
    out = tmp_path / "svt.html"
    run("verify", *ASKED, "--delta", "1/100", "--report", str(out))
    words_of = said(out)[1]
    assert "δ of this pair[0.01774002933, 0.01774002934]" in words_of
    wanted = (
        "the profile is the largest δ of all pairs, at the claimed ε_prv in [0.0239073584, "
        "0.02390735841]; the verdict stopped at the first pair that refutes the claim, "
        "with δ in [0.01774002933, 0.01774002934]"
    )
    assert wanted in words_of
    single = tmp_path / "single.html"
    pair = ("--pairs", "0,0~1,1")
    run("verify", *ASKED, "--delta", "1/100", *pair, "--report", str(single))
    assert "the verdict stopped" not in said(single)[1]


def test_numbers_in_tables_stay_whole_on_a_telephone() -> None:
    """With `anywhere` a table would rather break numbers than be wider than the screen."""
    shown = "".join(
        page(Description("h", "l", Tone.PLAIN, (("δ", "[0.1, 0.2]"),)), (), (), None, "1")
    )
    rules = re.findall(r"([^{}]*)\{([^{}]*)\}", shown.partition("<style>")[2])
    cells = [body for selector, body in rules if re.search(r"\b(td|th|table)\b", selector)]
    assert any("overflow-wrap:break-word" in body for body in cells)
    assert not any("anywhere" in body or "break-all" in body for body in cells)


def test_a_report_is_never_overwritten(tmp_path) -> None:
    out = tmp_path / "there.html"
    out.write_text("mine")
    status, text = run("verify", *ASKED, "--delta", "1/100", "--report", str(out))
    assert status == 2 and text == "" and out.read_text() == "mine"
    other = tmp_path / "page.pdf"
    assert run("verify", *ASKED, "--delta", "1/100", "--report", str(other)) == (2, "")
    assert not other.exists()


@cases(
    "command, shown",
    (("profile", *ASKED), "least δ for ε_prv = 1/10"),
    (("profile", "svt_gauss", "--eps", "1/2", "--curve", "0:0.3:4"), "privacy profile"),
    (("decide", "svt_laplace", "--budget", "1/4"), "these outputs are too likely"),
    (("prove", "svt_laplace", "--for-all", "N"), "its coupling"),
    (
        ("calibrate", "svt_gauss", "--eps-prv", "1", "--delta", "1/100", "--width", "1/2"),
        "Refuted at ε = ",
    ),
    (("probability", "svt_gauss", "--eps", "1/2", "--input", "0,1"), "probabilities of outputs"),
    (("test", "{svt_gauss}"), "hold"),
    (("compose", "{svt_gauss}", "--eps", "1/2", "--times", "2", "--curve", "0:1:3"), "2 × "),
)
def test_every_judging_command_has_one(command, shown, tmp_path) -> None:
    program = Path(__file__).parent.parent.parent / "programs" / "svt_gauss.dpg"
    words = [str(program) if word == "{svt_gauss}" else word for word in command]
    run(*words, "--report", str(tmp_path / "page.html"))
    found, text = said(tmp_path / "page.html")
    assert shown in text
    assert "q[N] in {0, 1}" in text
    assert ("figure" in found.count) == (command[0] not in ("prove", "test"))


def test_a_check_shows_the_program_of_the_certificate(tmp_path) -> None:
    certificate, out = tmp_path / "svt.json", tmp_path / "page.html"
    run("verify", *ASKED, "--delta", "1/2", "--certificate", str(certificate))
    assert run("check", str(certificate), "--report", str(out))[0] == 0
    _, shown = said(out)
    assert "svt_gauss: the proof of DP is confirmed" in shown
    assert "rT <- Gauss(T, 2 * Delta / eps)" in shown and "dipapprox check svt.json" in shown
    digest = json.loads(certificate.read_text(encoding="utf-8"))["digest"]
    assert digest in shown


def test_pages_fit_a_telephone_and_paper() -> None:
    text = "".join(page(Description("h", "l", Tone.PLAIN, (), ()), (), (), None, "1.0"))
    style = text[text.index("<style>") : text.index("</style>")]
    assert "width=device-width" in text
    wide = [int(n) for n in re.findall(r"[^-]width:(\d+)px", style)]
    assert all(each <= 340 for each in wide)
    assert "@media print" in style and "@media(prefers-color-scheme:dark)" in style
    for each in (".answer", "pre"):
        rule = style[style.index(f"\n{each}{{") :]
        assert "overflow-x:auto" in rule[: rule.index("}")]


LOOK = """() => { const top = document.documentElement, cut = [];
for (const text of document.querySelectorAll('svg text')) {
  const a = text.getBoundingClientRect(), b = text.ownerSVGElement.getBoundingClientRect();
  if (a.right > b.right + 2 || a.left < b.left - 2) cut.push(text.textContent); }
const paper = getComputedStyle(document.body).backgroundColor;
return [top.scrollWidth - top.clientWidth, cut, paper]; }"""


def test_a_browser_shows_pages_on_a_telephone_in_the_dark_and_on_paper(tmp_path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    real = tmp_path / "real.dpg"
    real.write_text(
        "input q in real 0..1\noutput o in {0, 1}\nadjacent all\nx <- Gauss(q, 4)\no <- x >= 0\n"
    )
    asked = ("--eps", "1", "--eps-prv", "1/10", "--delta", "1/1000")
    pages = [tmp_path / "one.html", tmp_path / "two.html"]
    for out, program in zip(pages, ("svt_gauss", str(real)), strict=True):
        run("verify", program, *asked, "--report", str(out))
    with playwright.sync_playwright() as tool:
        try:
            browser = tool.chromium.launch(executable_path=os.environ.get("CHROMIUM"))
        except playwright.Error:
            pytest.skip("playwright has no browser here")
        shown = browser.new_page()
        for out in pages:
            shown.goto(out.as_uri())
            for width, scheme, media, paper in (
                (360, "light", "screen", "rgb(255, 255, 255)"),
                (1000, "dark", "screen", "rgb(22, 24, 26)"),
                (794, "dark", "print", "rgb(255, 255, 255)"),
            ):
                shown.set_viewport_size({"width": width, "height": 800})
                shown.emulate_media(media=media, color_scheme=scheme)
                assert shown.evaluate(LOOK) == [0, [], paper]
        browser.close()


def test_names_are_no_markup() -> None:
    wrong = "<script>alert('x')</script> & \"quoted\""
    description = Description(
        wrong, wrong, Tone.FAILS, ((wrong, wrong),), (Table(wrong, (wrong,), ((wrong,),)), wrong)
    )
    listings = [ProgramText(wrong, "dpg", f"# {wrong}\n"), ProgramText(wrong, "toml", wrong)]
    text = "".join(page(description, (), listings, WrittenCertificate(wrong, wrong), "1.0"))
    assert "".join(parsed(text).words).count(wrong) >= 12


def test_pages_are_the_same_each_time(tmp_path) -> None:
    texts = []
    for name in ("one.html", "two.html"):
        run("verify", *ASKED, "--delta", "1/10", "--report", str(tmp_path / name))
        text = (tmp_path / name).read_text(encoding="utf-8")
        texts.append(re.sub(r"(< 1 ms|[\d.e-]+ s)<", "<", text.replace("&lt;", "<")))
    assert texts[0] == texts[1]


def test_the_text_that_was_answered_is_shown_whatever_the_file_is_later(
    tmp_path, monkeypatch
) -> None:
    program, out = tmp_path / "svt.dpg", tmp_path / "page.html"
    text = text_of("svt_gauss")
    program.write_text(text, encoding="utf-8")
    answer = Verify.answer

    def changed(question: Verify, *about: Any) -> Any:
        program.write_text(f"{text}# another", encoding="utf-8")
        return answer(question, *about)

    monkeypatch.setattr(Verify, "answer", changed)
    words = ("--eps", "1/2", "--delta", "1/100", "--report", str(out))
    assert run("verify", str(program), *words)[0] in (0, 1)
    assert "# another" in program.read_text("utf-8")
    assert "# another" not in out.read_text("utf-8")


# --- Reports for people ---------------------------------------------------------------------------


def violated(name: str) -> dipapprox.Verdict:
    program = dipapprox.parse(SIGNED, name=name)
    found = dipapprox.verify(program, eps=1, eps_prv=0, delta=0)
    assert isinstance(found, dipapprox.Verdict)
    return found


def test_names_are_not_markup() -> None:
    out = StringIO()
    name = "[bold]x[/bold] :smile:"
    Output(out, 100).show(report(violated(name).describe()))
    assert name in out.getvalue()


def test_html_for_notebooks() -> None:
    html = violated("a < b")._repr_html_()
    assert html.startswith("<div><p><b>Not_DP</b> a &lt; b: the claim is violated</p><table>")
    assert "q = (-1, -1)" in html


def grid(across: int, down: int) -> Iterator[FinishedCase]:
    """A grid over eps (down) and delta (across), all DP."""
    for eps in range(1, down + 1):
        for delta in range(across):
            asked = {"eps": str(eps), "delta": f"{delta}/100"}
            answer = RecordedAnswer(verdict="DP", delta_enclosure=("0", "0"))
            yield FinishedCase("key", "verify", "p.dpg", {}, answer, None, 0.25, asked)


@cases(
    "across, down, head",
    (4, 30, "eps ╲ delta"),
    (30, 4, "delta ╲ eps"),
    (30, 30, "answer"),
    (4, 100, "answer"),
)
def test_a_matrix_is_turned_or_listed_where_it_does_not_fit(across, down, head) -> None:
    console = Console(width=80, color_system=None)
    with console.capture() as capture:
        console.print(*summary_report(groups_of(grid(across, down)), console.width))
    text = capture.get()
    assert head in text
    assert "…" not in text
    assert f"{across * down} cases: {across * down} DP" in text


def test_answers_of_sweeps_say_what_they_are_about(tmp_path) -> None:
    (tmp_path / "p.dpg").write_text(
        "param N = 1\ninput q[N] in {0, 1}\noutput o in {0, 1, 2}\nadjacent l0 1\n"
        "x <- Lap(q[N], 1 / eps)\no <- disc(x; 0 < 1 < 2)\n"
    )
    (tmp_path / "grid.toml").write_text(
        '[[grid]]\ntask = "verify"\nprograms = ["p.dpg"]\nparameters = { N = [1, 2, 3, 4] }\n'
        'eps = 1\ndelta = 1\nwiden = ["0..1", "-5..5", "1..2"]\n'
    )
    lines = [record(case, run_case(case)) for case in cases_of(read_spec(tmp_path / "grid.toml"))]
    wide = [line for line in lines if line["widen"] == "-5..5"]
    results = [line["result"] for line in wide]
    assert [result["scope"]["inputs"] for result in results if isinstance(result, dict)] == [
        "q[1] in -5..5 (widened from {0, 1})",
        *(f"q[1..{n}] in -5..5 (widened from {{0, 1}})" for n in (2, 3, 4)),
    ]
    refused = [line["failure"] for line in lines if line["widen"] == "1..2"]
    assert all("its value 0 is not in there" in str(failure) for failure in refused)
    read = [read_line(json.dumps(line).encode()) for line in lines]
    shown = [line for line in summary_report(groups_of(read), 80) if isinstance(line, str)]
    assert shown[2:] == [
        "  for inputs q[1] in -5..5 (widened from {0, 1}), adjacent l0 1",
        "  … (6 others)",
        "  for inputs q[1..4] in {0, 1}, adjacent l0 1",
        "  about the labels of 'disc' only: publishing the number itself may need more",
    ]
    few = list(summary_report(groups_of([read[0], read[1], read[3]]), 80))
    assert "  … (1 other)" in few


# --- `explain` and `show --core`: the papers' columns, equal integrals, machines in words ---------

_LAWS_OF_TWO = {
    "Gauss + Gauss": "Gauss(3, sqrt(8))",
    "Gauss - Gauss": "Gauss(-1, sqrt(8))",
    "Gauss + Lap": "Gauss(1, 2) + Lap(2, 2)",
    "Gauss - Lap": "Gauss(1, 2) + Lap(-2, 2)",
    "Gauss + LapPlus": "Gauss(1, 2) + LapPlus(2, 2)",
    "Gauss - LapPlus": "Gauss(1, 2) + LapMinus(-2, 2)",
    "Gauss - LapMinus": "Gauss(1, 2) + LapPlus(-2, 2)",
    "Lap + Gauss": "Gauss(2, 2) + Lap(1, 2)",
    "Lap - Lap": "Lap(1, 2) + Lap(-2, 2)",
    "Lap - LapPlus": "Lap(1, 2) + LapMinus(-2, 2)",
    "Lap + LapMinus": "Lap(1, 2) + LapMinus(2, 2)",
    "LapPlus + LapPlus": "LapPlus(1, 2) + LapPlus(2, 2)",
    "LapPlus - LapPlus": "Lap(-1, 2)",
    "LapPlus + LapMinus": "Lap(3, 2)",
    "LapPlus - LapMinus": "LapPlus(1, 2) + LapPlus(-2, 2)",
    "LapMinus - LapMinus": "Lap(-1, 2)",
    "DLap + DLap": "DLap(1, 2) + DLap(2, 2)",
    "DLap - DGauss": "DLap(1, 2) + DGauss(-2, 2)",
    "DGauss - DGauss": "DGauss(1, 2) + DGauss(-2, 2)",
}
"""Of x with mean 1 and y with mean 2, both of scale 2."""


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("case", part([*_LAWS_OF_TWO], 3))
def test_two_samples_used_only_together_are_a_sum(case) -> None:
    """In one guard, in a band of two guards, and in what is published."""
    first, sign, second = case.split()
    head = "input q in {0, 1}\noutput out in {0, 1}\nadjacent all\n"
    draws = f"x <- {first}(q, 2)\ny <- {second}(2, 2)\nout <- 0\n"
    form = f"x {sign} y"
    bodies = [
        f"{head}{draws}if {form} >= 1 then out <- 1 end\n",
        f"{head}{draws}if {form} >= 1 and {form} <= 3 then out <- 1 end\n",
    ]
    if not first.startswith("D"):
        bodies.append(f"{head}output z in real\n{draws}z <- {form}\n")
    for body in bodies:
        Path("two.dpg").write_text(body, encoding="utf-8")
        _, fields = run_json("explain", "two.dpg", "--input", "1")
        wanted = [f"{form} ~ {_LAWS_OF_TWO[case]}"]
        assert fields["states"]
        assert all(state["sums"] == wanted for state in fields["states"])


@pytest.mark.parametrize("text", [SVT, SIGNED])
@pytest.mark.parametrize("strategy", list(Strategy))
def test_shown_integrals_have_one_value(text, strategy) -> None:
    program = elaborate(parse(text, "program"), {}, "program")
    states = execute(program, merge=False)
    input = tuple(cell.domain[0] for cell in program.inputs)
    explanation = explain(states, Fraction(1), [input], strategy)
    total = Enclosure.exact(0)
    for state in explanation.details:
        assert state.before is not None
        assert state.after is not None
        before, after = (enclose_plan(p, 30) for p in (state.before, state.after))
        assert before.meets(after)
        assert after.width < Fraction(1, 2**25)
        total = total + after
    assert 1 in total


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [(LimitReached("time limit: 1 s"), 3, "time limit: 1 s"), (KeyboardInterrupt(), 130, "interr")],
)
def test_stopped_explanations_are_whole(error, status, reason, monkeypatch, capsys) -> None:
    def stop(*_: object) -> None:
        raise error

    monkeypatch.setattr("dipapprox.cli.explain.explain", stop)
    found, fields = run_json("explain", "svt.dpg")
    assert (found, fields["final_states"], fields["states"]) == (status, None, [])
    assert fields["reason"].startswith(reason)
    assert run("explain", "svt.dpg") == (status, "")
    assert f"unknown: {reason}" in capsys.readouterr().err


def test_explanations_end_after_a_minute_unless_told_otherwise() -> None:
    def seconds(*words: str) -> float | None:
        given = ["explain", "svt.dpg", *words]
        return limits_of(build_parser(given).parse_args(given)).seconds

    assert seconds() == 60
    assert seconds("--timeout", "5") == 5


# --- `dipapprox show --core` ----------------------------------------------------------------------

PROGRAMS = Path(__file__).parent.parent.parent / "programs"


def leaves(json: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The places of all values and words."""
    if isinstance(json, dict | list):
        for key, inner in json.items() if isinstance(json, dict) else enumerate(json):
            yield from leaves(inner, (*path, key))
    else:
        yield path


def changed(json: Any, path: tuple[Any, ...]) -> Any:
    """A machine with another value at a place."""
    found = copy.deepcopy(json)
    inner = found
    for key in path[:-1]:
        inner = inner[key]
    value = inner[path[-1]]
    match value:
        case bool():
            inner[path[-1]] = not value
        case int():
            inner[path[-1]] = value + 1
        case str():
            others = {"+": "*", "*": "+", "<": ">", ">=": "<=", "and": "or", "or": "and"}
            others |= {"Gauss": "Lap", "Lap": "Gauss", "linf": "l1", "inverse": "exp"}
            inner[path[-1]] = others.get(value, f"{value}0")
        case None:
            inner[path[-1]] = 1
    return found


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("svt_gauss", {"N": 40}),
        ("exponential_mechanism", {}),
        ("literature/truncated_geometric", {}),
        ("dipc/rand1", {}),
    ],
)
def test_every_word_and_number_of_a_machine_is_in_its_text(name, parameters) -> None:
    given = {each: Fraction(value) for each, value in parameters.items()}
    machine: Any = machine_json(load(PROGRAMS / f"{name}.dpg", given))
    text, seen = machine_text(machine), 0
    for path in leaves(machine):
        try:
            other = machine_text(changed(machine, path))
        except BadProof:
            continue
        seen += 1
        assert other != text, path
    assert seen > 20


@pytest.mark.parametrize("path", sorted(PROGRAMS.glob("streams/*.dpg")), ids=lambda p: p.stem)
def test_machines_with_rounds(path) -> None:
    source = read_source(path, {})
    program = elaborate(source.program, {}, source.name, irrational=True)
    machine: Any = rounds_json(program)
    assert run_json("show", str(path), "--core") == (0, machine)
    text = machine_text(machine)
    assert run("show", str(path), "--core") == (0, text)
    for place in leaves(machine):
        try:
            other = machine_text(changed(machine, place))
        except BadProof:
            continue
        assert other != text, place
