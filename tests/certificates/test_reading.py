"""What is no certificate is refused, with the place in the file."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from typing import Any

import pytest

from dipapprox.certificates import numbers
from dipapprox.certificates.numbers import read_number
from dipapprox.certificates.reading import read_certificate
from dipapprox.certificates.writing import fields_of
from dipapprox.errors import UserError
from tests.certificates.samples import SAMPLES, sample
from tests.checking.certified import replaced, signed


@pytest.mark.parametrize("kind", SAMPLES)
def test_what_is_read_is_what_was_written(kind: str) -> None:
    fields = sample(kind)
    for given in (fields, json.dumps(fields), json.dumps(fields, indent=2)):
        record, own_digest = read_certificate(given)
        assert own_digest == fields["digest"] == record.digest
        assert json.loads(json.dumps(fields_of(record))) == fields


def test_each_number_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Certificates repeat few numbers many times: reading 1,000 outputs is not parsing 1,000."""
    parsed: list[str] = []

    def counting(text: str, form: re.Pattern[str], expected: str) -> Fraction:
        parsed.append(text)
        return read_number(text, form, expected)

    monkeypatch.setattr(numbers, "read_number", counting)
    fields = sample("Not_DP")
    outputs = fields["evidence"]["outputs"]
    read_certificate(fields)
    once = len(parsed)
    assert once > 5
    read_certificate(replaced(fields, ("evidence", "outputs"), outputs * 1000))
    assert len(parsed) == 2 * once


MALFORMED: list[tuple[str, tuple[str | int, ...], Any, str]] = [
    ("DP", ("program", "text"), 3, "$.program.text: expected a string, got a whole number"),
    ("DP", ("claim", "delta"), "1/0", "$.claim.delta: expected a fraction with a denominator abo"),
    ("DP", ("claim", "delta"), "9" * 20001, "$.claim.delta: expected a number of reasonable leng"),
    ("DP", ("claim", "delta"), "1\n", "$.claim.delta: expected a rational number"),
    ("DP", ("evidence", "kind"), "trust me", "$.evidence"),
    ("DP", ("pairs",), {"selection": "all", "count": 1, "list": None}, "$.pairs.selection:"),
    ("DP", ("widened",), {"q": "0 .. 5"}, "$.widened.q: expected 0..5"),
    ("Not_DP", ("pairs", "count"), 3, "$.pairs.count: expected null, as the search ended"),
    ("Not_DP", ("verdict",), "yes", '$.verdict: expected "DP" or "Not_DP"'),
    ("DP", ("delta_enclosure",), ["1", "0"], "$.delta_enclosure: expected two numbers in [0, 1]"),
    (
        "DP",
        ("delta_enclosure", 0),
        "1e-10001",
        "[0]: expected a number of reasonable size",
    ),
    ("DP", ("delta_enclosure", 1), "1e999999999", "[1]: expected a number of reasonable size"),
    ("DP", ("evidence", "probabilities", 0, 0), "-1/2", "$.evidence.probabilities[0][0]: exp"),
    (
        "DP",
        ("evidence", "inputs", 1, "input"),
        [0, "a b"],
        "$.evidence.inputs[1].input[1]: expected",
    ),
    (
        "DP",
        ("evidence", "inputs", 1, "input"),
        [0, "1/2\n"],
        "$.evidence.inputs[1].input[1]: expect",
    ),
    ("DP", ("evidence",), {"kind": "summary", "inputs": 1, "x": 1}, "unknown field 'x'"),
    ("Not_DP", ("pairs", "count"), 5, "$.pairs.count: expected null, as the search ended"),
    ("Not_DP", ("evidence", "outputs"), [], "$.evidence.outputs: expected a list of length >= 1"),
]


@pytest.mark.parametrize(("kind", "place", "value", "message"), MALFORMED)
def test_a_malformed_field_is_named(
    kind: str, place: tuple[str | int, ...], value: object, message: str
) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        read_certificate(signed(replaced(sample(kind), place, value)))


def test_a_field_that_comes_twice_is_named_wherever_it_is() -> None:
    text = json.dumps(sample("DP"))
    for once in ('"kind": "distributions"', '"delta": "1/40"', '"name": "svt_gauss"'):
        assert once in text
        name = once.partition(":")[0].strip('"')
        with pytest.raises(UserError, match=f"the field '{name}' occurs twice"):
            read_certificate(text.replace(once, f"{once}, {once}", 1))


def test_a_field_that_comes_twice_is_found_among_many_at_once() -> None:
    text = "{" + ", ".join(f'"{k}": 0' for k in range(300_000)) + ', "299999": 1}'
    with pytest.raises(UserError, match="the field '299999' occurs twice"):
        read_certificate(text)


def test_texts_that_are_not_unicode_are_not_shown() -> None:
    with pytest.raises(UserError, match="occurs twice") as caught:
        read_certificate(r'{"\ud800": 1, "\ud800": 2}')
    assert caught.value.message.isascii()


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1.0", "1e2", "1e999"])
def test_floating_point_numbers_are_refused(number: str) -> None:
    text = json.dumps(sample("DP")).replace('"version": 2', f'"version": {number}')
    with pytest.raises(UserError, match=f"{number} is not a number that it may have"):
        read_certificate(text)


@pytest.mark.parametrize("text", ["[" * 10**5, '{"format":' * 10**5, f"[{'1' * 5000}]", "\ud800"])
def test_what_is_too_deep_or_too_long_is_refused(text: str) -> None:
    with pytest.raises(UserError, match="not JSON"):
        read_certificate(text)


def test_objects_of_python_that_are_no_json_are_refused() -> None:
    fields = sample("DP")
    loop: dict[str, object] = {**fields}
    loop["claim"] = loop
    for bad in ({**fields, "claim": {1, 2}}, loop):
        with pytest.raises(UserError, match="not JSON"):
            read_certificate(bad)
    with pytest.raises(UserError, match="is not a number that it may have"):
        read_certificate({**fields, "claim": float("nan")})
