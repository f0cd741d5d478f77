"""Sweeps and their specs: kills, full disks, other processes, bad cases."""

import errno
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dipapprox.errors import UserError
from dipapprox.experiments.sweep import sweep
from dipapprox.experiments.sweep.ledger import Ledger, read_lines
from dipapprox.experiments.sweep.pool import run_locally
from dipapprox.experiments.sweep.spec import (
    Case,
    CaseLimits,
    CaseOutcome,
    Spec,
    read_axis,
    read_spec,
)
from dipapprox.experiments.sweep.sweep import check_programs, program_of, run_case
from dipapprox.privacy.description import ProgramText
from dipapprox.semantics.execution import shared_executions
from tests.cases import part, refuses, template_of, text_of
from tests.cli.running import run

PROGRAM = text_of("svt_gauss")

SPEC = template_of("sweep-spec")
CASES = 13
LAPLACE = PROGRAM.replace("Gauss", "Lap")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """A spec of `CASES` cases, beside its program."""
    (tmp_path / "svt.dpg").write_text(PROGRAM)
    (tmp_path / "lap.dpg").write_text(LAPLACE)
    path = tmp_path / "grid.toml"
    path.write_text(SPEC)
    return path


def start(spec: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    """Start a sweep as a process of its own."""
    words = [sys.executable, "-m", "dipapprox", "sweep", str(spec), "--out", str(out), *more]
    return subprocess.Popen(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=100)
    return process.returncode, out, err


def lines_of(path: Path) -> list[str]:
    """The whole lines of a file that may not yet exist."""
    return path.read_text().split("\n")[:-1] if path.exists() else []


def lines(path: Path) -> list[str]:
    """The finished cases without their times, sorted."""
    found = []
    for line in path.read_text().splitlines()[1:]:
        record = json.loads(line)
        del record["seconds"]
        found.append(json.dumps(record, sort_keys=True))
    return sorted(found)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / "svt.dpg").write_text(PROGRAM)
    (folder / "lap.dpg").write_text(LAPLACE)
    (folder / "grid.toml").write_text(SPEC)
    words = ("sweep", str(folder / "grid.toml"), "--out", str(folder / "out.jsonl"), "--jobs", "1")
    assert run(*words)[0] == 0
    return folder / "out.jsonl"


@pytest.fixture(scope="module")
def undisturbed(finished: Path) -> list[str]:
    found = lines(finished)
    assert len(found) == len(set(found)) == CASES
    assert all(json.loads(line)["result"] is not None for line in found)
    return found


def test_killed_sweeps_go_on_where_they_were(spec, tmp_path, undisturbed) -> None:
    out = tmp_path / "out.jsonl"
    process = start(spec, out, "--jobs", "2")
    while process.poll() is None and len(lines_of(out)) <= 2:
        time.sleep(0.01)
    process.kill()
    finish(process)
    with out.open("ab") as file:
        file.write(b'{"case": "torn')  # as a crash in the middle of a line leaves it
    status, text = run("sweep", str(spec), "--out", str(out), "--jobs", "1")
    assert status == 0
    assert f"{CASES} cases" in text
    assert lines(out) == undisturbed


@pytest.mark.thorough
def test_a_full_disk_loses_nothing(spec, tmp_path, undisturbed) -> None:
    out = tmp_path / "out.jsonl"
    # A limit on the size of files fails as a full disk does: in the middle of a line.
    words = [sys.executable, "-m", "dipapprox", "sweep", str(spec), "--out", str(out)]
    limited = subprocess.run(
        words,
        text=True,
        capture_output=True,
        timeout=100,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000)),
    )
    assert limited.returncode == 2
    assert "cannot write" in limited.stderr
    assert "finished cases are kept" in limited.stderr
    kept = lines(out)
    assert 0 < len(kept) < CASES
    assert out.read_text().endswith("\n") and set(kept) <= set(undisturbed)


def test_one_process_at_a_time(tmp_path) -> None:
    path = tmp_path / "out.jsonl"
    with Ledger(path, "digest", 5):
        refuses(UserError, "in use by another process", Ledger, path, "digest", 5)
    with Ledger(path, "digest", 5) as ledger:
        assert ledger.finished == set()


@pytest.mark.thorough
def test_an_interrupted_sweep_says_how_it_goes_on(spec, tmp_path) -> None:
    out = tmp_path / "out.jsonl"
    (tmp_path / "long.dpg").write_text(text_of("m_range_gauss"))
    spec.write_text(
        '[[grid]]\ntask = "verify"\nprograms = "long.dpg"\nparameters = { N = 40 }\neps = 1\n'
        'delta = 0.01\nengine = "nested"\n'
    )
    first = start(spec, out)
    while first.poll() is None and not lines_of(out):
        time.sleep(0.02)
    first.send_signal(signal.SIGINT)
    status, _, err = finish(first)
    assert status == 130
    assert "the same command goes on from there" in err


def test_changes_are_noticed(spec, tmp_path, capsys) -> None:
    words = ("sweep", str(spec), "--out", str(tmp_path / "out.jsonl"))
    spec.write_text(
        '[[grid]]\ntask = "verify"\nprograms = ["svt.dpg"]\neps = 1\ndelta = [0, 0.1]\n'
    )
    assert run(*words)[0] == 0
    status, text = run(*words)
    assert (status, text) == (0, "2 cases: 2 finished before, 0 now\n")
    (tmp_path / "svt.dpg").write_text(PROGRAM + "# changed\n")
    assert run(*words)[0] == 2
    assert "the spec or a program has changed" in capsys.readouterr().err


def test_limits_and_errors_are_outcomes(spec, tmp_path) -> None:
    (tmp_path / "wide.dpg").write_text(
        "param N = 11\ninput q in {0, 1}\noutput out in 0..99\nadjacent all\n"
        "out <- 0\nc <- Gauss(0, 1 / eps)\nfor i in 1..N do\n    r <- Gauss(q, 1 / eps)\n"
        "    if r >= c then\n        out <- out + 1\n    end\n    c <- Gauss(0, 1 / eps)\nend\n"
    )
    spec.write_text(
        '[limits]\ntimeout = 0.3\n[[grid]]\ntask = "verify"\nprograms = "wide.dpg"\n'
        "parameters = { N = 16 }\neps = 1\ndelta = 0\n"
        '[[grid]]\ntask = "verify"\nprograms = "svt.dpg"\neps = 1\ndelta = 0.1\npairs = "5~6"\n'
    )
    out = tmp_path / "out.jsonl"
    status, text = run("sweep", str(spec), "--out", str(out))
    assert status == 0
    records = [json.loads(line) for line in out.read_text().splitlines()[1:]]
    slow, wrong = records
    assert slow["result"] is None or slow["result"]["verdict"] == "Unknown"
    assert "time limit: 0.3 s" in (slow["failure"] or slow["result"]["reason"])
    assert wrong["failure"].startswith("error: ")
    assert "2 now, " in text


def test_memory_is_limited_in_the_child(tmp_path) -> None:
    (tmp_path / "svt.dpg").write_text(PROGRAM)
    (tmp_path / "grid.toml").write_text(
        '[limits]\nmemory = 1\n[[grid]]\ntask = "verify"\nprograms = "svt.dpg"\n'
        "parameters = { N = 8 }\neps = 1\ndelta = 0.001\n"
    )
    out = tmp_path / "out.jsonl"
    assert run("sweep", str(tmp_path / "grid.toml"), "--out", str(out))[0] == 0
    (record,) = [json.loads(line) for line in out.read_text().splitlines()[1:]]
    reason = record["failure"] or record["result"]["reason"]
    assert "memory limit: 1 MiB" in reason


def test_summaries_and_pictures(finished, tmp_path) -> None:
    pictures = tmp_path / "pictures"
    status, shown = run("sweep", "--summary", str(finished), "--plot", str(pictures))
    assert status == 0
    assert "verify svt.dpg: 8 cases" in shown
    assert "calibrate svt.dpg: 1 case: 1 answered" in shown
    names = sorted(path.name for path in pictures.iterdir())
    stems = ("profile-svt-eps_prv-by-delta", "verify-svt-time-N")
    assert names == [f"{stem}.{suffix}" for stem in stems for suffix in ("png", "svg")]
    heading, *others = finished.read_text().splitlines()
    asked = {line: json.loads(line) for line in others}
    of_one = [k for k, v in asked.items() if (v["task"], v["params"]) == ("verify", {"N": "1"})]
    two = tmp_path / "two.jsonl"
    two.write_text("\n".join((heading, *of_one, "")))
    assert "eps ╲ delta" in run("sweep", "--summary", str(two), "--plot", str(pictures))[1]
    assert (pictures / "verify-svt-map.svg").exists()


# --- odd requests ---------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="has no such device")
def test_devices_are_no_results_files() -> None:
    # Reading /dev/full never ends.
    refuses(UserError, "no regular file", Ledger, Path("/dev/full"), "digest", 1)
    refuses(UserError, "no regular file", next, read_lines(Path("/dev/full")))


def test_a_case_counts_after_its_line_is_synced_and_many_are_synced_at_once(
    tmp_path, monkeypatch
) -> None:
    path = tmp_path / "out.jsonl"
    with Ledger(path, "digest", 5) as ledger:
        syncs: list[set[str]] = []
        monkeypatch.setattr(os, "fsync", lambda _: syncs.append(set(ledger.finished)))
        ledger.append([{"case": name} for name in "abc"])
        assert syncs == [set()]
        assert ledger.finished == {"a", "b", "c"}

        def broken(_: int) -> None:
            raise OSError(errno.EIO, "input/output error")

        monkeypatch.setattr(os, "fsync", broken)
        refuses(UserError, "cannot write", ledger.append, [{"case": "d"}])
        assert ledger.finished == {"a", "b", "c"}


def test_of_the_lines_that_a_full_disk_cuts_the_whole_ones_are_kept(tmp_path) -> None:
    path = tmp_path / "out.jsonl"
    with Ledger(path, "digest", 5) as ledger:
        room = path.stat().st_size + 2 * len('{"case": "a"}\n') + 3
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
        try:
            refuses(UserError, "cannot write", ledger.append, [{"case": name} for name in "abc"])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, ignored)
    with Ledger(path, "digest", 5) as ledger:
        assert ledger.finished == {"a", "b"}


def test_no_process_is_started_for_no_case(monkeypatch) -> None:
    def no_process(*_: object, **__: object) -> None:
        raise AssertionError("a process for no case")

    monkeypatch.setattr(subprocess, "Popen", no_process)
    assert list(run_locally(iter(()), 10**6)) == []


# --- Specs and cases ------------------------------------------------------------------------------

ONE_CELL = text_of("sweep/spec-1")

GRID = '[[grid]]\ntask = "verify"\nprograms = ["p.dpg"]\neps = 1\ndelta = 0\n'


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str], Spec]:
    """Read a spec that stands beside the program p.dpg, and check its programs."""
    (tmp_path / "p.dpg").write_text(ONE_CELL)

    def from_text(text: str) -> Spec:
        path = tmp_path / "grid.toml"
        path.write_text(text)
        spec = read_spec(path)
        check_programs(spec)
        return spec

    return from_text


def test_patterns_name_programs(read, tmp_path) -> None:
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "q.dpg").write_text(ONE_CELL)
    spec = read(GRID.replace('"p.dpg"', '"**/*.dpg"'))
    assert [p.name for p in spec.grids[0].programs] == ["more/q.dpg", "p.dpg"]


@given(
    st.fractions(-5, 5, max_denominator=50),
    st.fractions(Fraction(1, 20), 2, max_denominator=20),
    st.integers(1, 30),
)
def test_ranges_are_exact_and_include_both_ends(first, step, count) -> None:
    last = first + step * (count - 1)
    table = {"from": str(first), "to": str(last), "step": str(step)}
    values = [Fraction(v) for v in read_axis("x", table, "x").values]
    assert values == [first + k * step for k in range(count)]
    if count > 1:
        by_count = {"from": first, "to": last, "count": count}
        assert [Fraction(v) for v in read_axis("x", by_count, "x").values] == values


SHIPPED = [
    ProgramText(f"{name}.dpg", "dpg", text_of(name)) for name in ("svt_gauss", "noisy_max_laplace")
]


def cases() -> list[Case]:
    """Several questions about several programs; one of them is wrong."""
    limits = CaseLimits(Fraction(60), 10_000)
    claim = {"eps": "1/2", "delta": "1/100"}
    asked = [
        ("verify", claim),
        ("verify", {**claim, "merge": "false"}),
        ("verify", {**claim, "widen": "-1..1"}),
        ("verify", {**claim, "pairs": "5~6"}),
        ("profile", {"eps": "1", "delta": "1/50"}),
        ("decide", {}),
    ]
    return [
        Case(task, program, {"N": str(n)}, fields, limits)
        for program in part(SHIPPED, 2)
        for n in (1, 2)
        for task, fields in asked
    ]


def alone(case: Case) -> CaseOutcome:
    """Run a case with nothing to share."""
    sweep._elaborated.cache_clear()
    sweep._parsed.cache_clear()
    return run_case(case)


def test_no_answer_depends_on_what_is_shared() -> None:
    several = cases()
    expected = {case.key: alone(case) for case in several}
    assert {outcome.result is None for outcome in expected.values()} == {True, False}
    mixed = several + several[::2]
    random.Random(11).shuffle(mixed)
    with shared_executions():
        for case in mixed:
            found = run_case(case)
            assert found.result == expected[case.key].result
            assert found.failure == expected[case.key].failure


def test_cases_of_one_program_share_it() -> None:
    first, second, *_ = cases()
    assert program_of(first) is program_of(second)


_NOISY = template_of("sweep-noisy")


def test_delta_in_a_program_is_that_of_the_case() -> None:
    text = _NOISY.format(domain="{0, 1}", scale="1 / delta")
    program = ProgramText("scaled.dpg", "dpg", text)
    limits = CaseLimits(Fraction(60), 10_000)

    def ran(task: str, parameters: dict[str, str], **fields: str) -> object:
        outcome = run_case(Case(task, program, parameters, fields, limits))
        return None if outcome.result is None else outcome.result["params"]

    assert ran("verify", {}, eps="1/2", delta="eps/100") == {"delta": "1/200"}
    assert ran("verify", {}, eps="1/2", delta="1e-5") == {"delta": "1/100000"}
    assert ran("verify", {"delta": "1/3"}, eps="1/2", delta="1e-5") == {"delta": "1/3"}
    assert ran("profile", {}, eps="1", delta="1/50") == {"delta": "1/50"}
    # What is no rational number stands for none.
    assert ran("verify", {}, eps="1/2", delta="exp(-eps)/9") is None
    assert ran("verify", {}, eps="1/4..1/2", delta="eps/100") is None
    assert ran("decide", {}) is None


def test_real_inputs_are_swept() -> None:
    text = _NOISY.format(domain="real 0..1", scale="s / eps")
    program = ProgramText("real.dpg", "dpg", f"param s = 1\n{text}")
    limits = CaseLimits(Fraction(60), 10_000)
    for task, fields in (("verify", {"delta": "eps/100"}), ("profile", {"delta": "1e-3"})):
        outcome = run_case(Case(task, program, {"s": "2"}, {"eps": "1", **fields}, limits))
        assert outcome.result is not None and "real 0..1" in str(outcome.result["scope"])
