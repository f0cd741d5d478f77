"""Python functions as programs: what they become, and what is refused, at the user's line."""

import enum
from pathlib import Path
from textwrap import dedent, indent
from typing import Annotated, Any

import pytest

import dipapprox
from dipapprox import Answer, Mechanism, Quantity, SourceError, UserError, Weight
from dipapprox.language.elaborate import elaborate
from dipapprox.language.functions import operators
from dipapprox.language.load import load
from dipapprox.language.mechanism import read_mechanism
from dipapprox.language.parser import parse
from tests.cases import cases, check_answers, complaint, refuses, template_of

EXAMPLES = Path(__file__).parents[3] / "examples" / "mechanisms.py"

Bit = Annotated[Quantity, "in {0, 1}"]

HEAD = template_of("heads/many_names")


def example(name: str) -> Mechanism[Any, Any]:
    return read_mechanism(EXAMPLES, EXAMPLES.read_text(encoding="utf-8"), name)


def made(
    body: str, signature: str = "q: Bit, eps: Weight", result: str = "Out", adjacent: str = "linf 1"
) -> Any:
    """A mechanism with this body, from a file of its own."""
    lines = "\n".join(f"    {line}" for line in dedent(body).strip().splitlines())
    text = f'{HEAD}@mechanism(adjacent="{adjacent}")\ndef f({signature}) -> {result}:\n{lines}\n'
    return read_mechanism(Path("f.py"), text, "f")


def program_of(asked: str) -> str:
    """The program of a body, or of a function with a signature of its own."""
    if asked.startswith("@"):
        mechanism = read_mechanism(Path("f.py"), f"{HEAD}{asked}\n", "f")
    else:
        mechanism = made(asked)
    mechanism.program()
    return mechanism.text()


def program_in(asked: str) -> str:
    """The program of a file that uses what stands first, and does what follows."""
    used, _, statement = asked.partition("\n")
    text = UNREAD.format(statement=statement, used=used)
    return read_mechanism(Path("f.py"), text, "f").text()


@cases("kind, read", ("bits", program_of), ("files", program_in))
def test_functions_become_programs_or_are_refused_where_they_are_written(
    kind, read, monkeypatch
) -> None:
    monkeypatch.setattr("dipapprox.language.functions.run.MOST_TURNS", 10)
    monkeypatch.setattr("dipapprox.language.functions.machine.MOST_STEPS", 20_000)
    monkeypatch.setattr("dipapprox.language.functions.paths.MOST_PATHS", 8)
    check_answers(f"functions_{kind}", complaint(read))


def test_parameters_are_those_of_the_signature() -> None:
    refuses(UserError, "no parameter 'M'", made("return 0", "q: Bit, N: int = 2").program, M=3)


@pytest.mark.parametrize("name", ["svt", "count_above", "above", "sign"])
def test_the_text_says_what_was_executed(name) -> None:
    mechanism = example(name)
    executed = mechanism.execute({})
    assert parse(executed.text) == executed.program
    assert elaborate(parse(executed.text), {}, executed.name) == mechanism.program()


STATE = template_of("heads/state")


@cases(
    "state",
    *("held.note()", "held.add()", "held.told", "default()", "closed()", "next(pairs)[1]"),
    *("len(words.setdefault(len(words), 'more'))", "len([seen.add(2)])", "box[0].pop()"),
    *("counted()", "[each.told for each in kept][0]", "failed.args[0].pop()"),
    *("len([*pairs])", "sum(1 for _ in pairs)", "box[1].told", "(box := [1])[0]"),
    *("max(apart).told", "put(Base())"),
)
def test_what_lasts_is_seen_wherever_it_is(state, tmp_path) -> None:
    (tmp_path / "told.py").write_text(STATE.format(state=state), encoding="utf-8")
    if ":=" in state:  # a name of the function's own
        load(tmp_path / "told.py:told", {})
        return
    refuses(SourceError, r"runs again|a class is not changed", load, tmp_path / "told.py:told", {})


def test_a_module_that_changes_is_read_again(tmp_path) -> None:
    (tmp_path / "m.py").write_text(
        "from typing import Annotated\n"
        "from dipapprox import Quantity, Weight, mechanism\n"
        "from beside_it import drawn\n"
        '@mechanism(adjacent="linf 1")\n'
        'def f(q: Annotated[Quantity, "in {0, 1}"], eps: Weight) -> bool:\n'
        "    return drawn(q, eps)\n"
    )
    texts = []
    for scale in (1, 10, 100):
        (tmp_path / "beside_it.py").write_text(
            "from dipapprox import laplace\n"
            f"def drawn(q, eps): return laplace(q, {scale} / eps) > 0\n"
        )
        texts += [read_mechanism(tmp_path / "m.py", (tmp_path / "m.py").read_text(), "f").text()]
    assert [
        f"Lap(q, {scale} / eps)" in text for scale, text in zip((1, 10, 100), texts, strict=True)
    ]
    assert len(set(texts)) == 3


def test_a_run_that_asks_nothing_ends(monkeypatch) -> None:
    monkeypatch.setattr("dipapprox.language.functions.machine.MOST_STEPS", 1000)
    refuses(SourceError, "more than 1000 steps", made("while True: eps").program)


def test_a_file_is_never_run(tmp_path) -> None:
    (tmp_path / "f.py").write_text(
        "from typing import Annotated\n"
        "from dipapprox import *\n"
        f"import os\nopen({str(tmp_path / 'touched')!r}, 'w').close()\nos._exit(3)\n"
        "SCALE = 2\nprint(1 / 0)\n"
        "@mechanism(adjacent='linf 1')\n"
        "def f(q: Annotated[Quantity, 'in {0, 1}'], eps: Weight) -> bool:\n"
        "    return laplace(q, SCALE / eps) > 0\n"
    )
    assert dipapprox.verify(dipapprox.parse(tmp_path / "f.py"), eps=1, delta=0).answer is Answer.DP
    assert not (tmp_path / "touched").exists()


UNREAD = template_of("heads/unread")


@cases(
    "statement, used",
    ("import beside\nbeside.change()", "beside.table[0]"),
    ("from beside import change, first\nchange()", "first()"),
    ("import beside\nbeside.change()", "beside.limit"),
    ("import beside", "(3 if beside.unknown is None else 2)"),
)
def test_what_another_file_does_leaves_its_names_unread(statement, used, tmp_path) -> None:
    (tmp_path / "beside.py").write_text(
        "import elsewhere\ntable, limit, unknown = [1], 2, elsewhere.f()\n"
        "def first(): return table[0]\n"
        "def change():\n    global limit\n    table[0] = limit = elsewhere.f()\n"
    )
    text = UNREAD.format(statement=statement, used=used)
    with pytest.raises(SourceError, match=r"'elsewhere.f' is not among|outside itself"):
        read_mechanism(tmp_path / "f.py", text, "f").text()


PACKAGE = {
    "near.py": "__all__ = ['_own']\ndef _own(): return 1\ndef max(v): return 50\n",
    "name.py": "two = 50\n",
    "pack/__init__.py": "from .name import two\n",
    "pack/name.py": "two = 2\n",
    "pack/part/more.py": "from ..name import two\nfrom . import name\n",
    "pack/part/name.py": "two = 3\n",
    "odd/__init__.py": "from . import name\nname.two = 5\n",
    "odd/name.py": "two = 2\n",
    "statistics.py": "def mode(v): return 50\n",
}


@cases(
    "statement, used",
    ("from near import *", "(max([_own(), 0]) + _own())"),
    ("from math import *\nfrom pack import two", "two"),
    ("from pack.name import two", "two"),
    ("from pack.part.more import two", "two"),
    ("from pack.part.more import name", "(name.two - 1)"),
    ("from odd.name import two", ""),
    ("import statistics", ""),
    ("from math import *", "pow(limit, 1)"),
)
def test_names_are_those_that_python_imports(statement, used, tmp_path) -> None:
    for name, held in PACKAGE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(held)
    text = UNREAD.format(statement=statement, used=used or "statistics.mode(table) + two")
    if used and "pow" not in used:
        assert "Lap(q, 2 / eps)" in read_mechanism(tmp_path / "f.py", text, "f").text()
        return
    refuses(SourceError, None, read_mechanism(tmp_path / "f.py", text, "f").text)


class One(enum.IntEnum):
    ONE = 1


def test_a_running_program_is_read_as_it_is() -> None:
    marks: Any = {One.ONE, 2}
    table: Any = {One.ONE: 5}
    places = range(3)

    def mechanism(function: Any) -> Any:
        return dipapprox.mechanism(adjacent="all")(function)

    @mechanism
    def f(q: Bit, eps: Weight) -> Bit:
        return later(q)  # type: ignore[no-any-return]  # a number

    refuses(SourceError, "'later' is not defined", f.text)

    def later(x: Any) -> Any:
        return x + sum(places)

    assert f.text().endswith("out <- q + 3\n")

    @mechanism
    def marked(q: Bit, eps: Weight) -> Bit:
        return q in marks  # type: ignore[return-value]  # a truth value

    @mechanism
    def held(q: Bit, eps: Weight) -> Bit:
        return table.get(q, q)  # type: ignore[no-any-return]  # what it finds

    for asked in (marked, held):
        refuses(SourceError, "which is not followed", asked.text)


def test_the_decorator_is_called() -> None:
    refuses(UserError, "which inputs are neighbours", dipapprox.mechanism, print)  # type: ignore[arg-type]  # the mistake
    with pytest.raises(SourceError, match="which inputs are neighbours") as error:
        read_mechanism(Path("f.py"), f"{HEAD}@mechanism\ndef f(q: Bit) -> Out: return 0\n", "f")
    assert 'adjacent="linf 1"' in error.value.render()


def test_comparisons_with_one_number_tell_of_others() -> None:
    """A test that the numbers compared before decide is no test, whatever the domain is."""
    body = "return max(q.count(0), q.count(1)) + laplace(0, 1 / eps) > 1"
    signature = 'q: Annotated[list[Quantity], "[2] in 0..2"], eps: Weight'
    lines = made(body, signature, "bool").text().splitlines()
    depth: list[str] = []
    for line in map(str.strip, lines):
        if line == "end":
            depth.pop()
        elif line.startswith("if "):
            cell = line.removeprefix("if ").split(" = ")[0]
            assert not any(each.startswith(f"if {cell} = ") for each in depth)
            depth.append(line)


def test_delta_is_that_of_the_claim() -> None:
    body = "return gauss(q, sqrt(2 * log(Fraction(5, 4) / delta)) / eps) > 0"
    textbook = made(body, "q: Bit, eps: Weight, delta: Weight")
    assert "Gauss(q, sqrt(2 * log(1.25 / delta)) / eps)" in textbook.text()
    assert "log(12.5)" in textbook.text(delta="0.1")
    assert dipapprox.verify(textbook, eps=1, delta="0.1").answer is Answer.DP
    assert dipapprox.profile(textbook, eps=1, delta="0.1").eps_prv_enclosure.lower > 0
    with pytest.raises(SourceError, match="the scale depends on delta, which is 0 here"):
        dipapprox.verify(textbook, eps=1, delta=0)


def test_noise_outside_a_mechanism_says_so() -> None:
    refuses(UserError, "a mechanism that dipapprox executes", example("sign"), 0, 1)


def test_files_that_fail_say_where() -> None:
    refuses(SourceError, r"m.py:1:5: syntax error", read_mechanism, Path("m.py"), "def :\n", "f")
    refuses(UserError, "defines no mechanism", read_mechanism, Path("m.py"), "x = 1\n", "f")
    with pytest.raises(UserError, match="no mechanism 'svd'") as error:
        read_mechanism(EXAMPLES, EXAMPLES.read_text(encoding="utf-8"), "svd")
    assert "did you mean 'svt'" in error.value.hint


# --- What may take part in an operation with an input or a sample: all else is refused ------------

SYMBOLS = template_of("heads/symbols")


def text_made(body: str, signature: str, result: str) -> str:
    lines = indent(dedent(body).strip(), "    ")
    text = f'{SYMBOLS}@mechanism(adjacent="all")\ndef f({signature}) -> {result}:\n{lines}\n'
    return str(read_mechanism(Path("f.py"), text, "f").text())


NUMBERS = "q: Bit, k: Three, eps: Weight, N: int = 3"
NAMES = 'q: Literal["low", "high"], on: bool, eps: Weight'


@cases("kind, signature", ("numbers", NUMBERS), ("names", NAMES))
def test_what_may_meet_inputs_and_samples(kind, signature) -> None:
    check_answers(f"functions_{kind}", complaint(lambda body: text_made(body, signature, "Out")))


def test_lists_count_and_only_iterators_of_itertools_go_on_for_ever(monkeypatch) -> None:
    monkeypatch.setattr(operators, "MOST_CELLS", 1000)
    signature = 'q: Annotated[list[int], "[2] in {0, 1}"], eps: Weight'
    assert "out" in text_made("return max(q.count(0), q.count(1))", signature, "Out")
    counted = "def count(v): return [v, v]\nreturn sum(count(q[0]))"
    assert "out <- q[1] + q[1]" in text_made(counted, signature, "Out")
    for body in (
        "import itertools as it\nreturn max(it.count())",
        "from itertools import count as numbers\nreturn max(numbers())",
    ):
        refuses(SourceError, "this goes on for ever", text_made, body, signature, "Out")


def test_what_is_returned_and_is_no_number_is_refused_at_its_line() -> None:
    f = made("return q", 'q: Annotated[str, "in {low, high}"]', adjacent="all")
    why = r"(?s)gets low, which is not in its domain.*return q"
    refuses(SourceError, why, dipapprox.verify, f, eps=1, delta=0)


def test_a_default_is_of_a_class_of_its_own() -> None:
    for default in ("Percent(1, 3)", "np.int64(3)", "Odd(2)"):
        with pytest.raises(
            SourceError, match=r"not among the functions|not derived|operators of its own"
        ):
            text_made("return q", f"q: Bit, eps: Weight, N: object = {default}", "Out")
    assert "out <- q + 1" in text_made(
        "return q + N", "q: Bit, eps: Weight, N: Level = Level.HIGH", "Out"
    )
