"""Numbers of more digits than Python writes: certificates with them are judged, not crashed on."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from dipapprox.checking.check import check
from dipapprox.errors import UserError
from dipapprox.limits import Limits
from tests.certificates.samples import SAMPLES, sample
from tests.checking.certified import Fields, at, places, replaced, signed

LONG = f"1{'0' * 4400}1/1{'0' * 4401}"
RATIONAL = re.compile(r"-?\d+(\.\d+)?(e-?\d+)?(/\d+)?")


@pytest.fixture(params=SAMPLES)
def fields(request: pytest.FixtureRequest) -> Fields:
    """A certificate, made before limits measure work."""
    return sample(request.param)


def test_long_numbers_are_judged(fields: Fields, work_clock: Callable[[], float]) -> None:
    fields_seen = set()
    judged = 0
    for place in places(fields):
        field = tuple("#" if isinstance(step, int) else step for step in place)
        value = at(fields, place)
        if not isinstance(value, str) or not RATIONAL.fullmatch(value) or field in fields_seen:
            continue
        fields_seen.add(field)
        forged = signed(replaced(fields, place, LONG))
        try:
            result = check(forged, Limits(seconds=5, started=work_clock()))
        except UserError:
            continue
        judged += 1
        for text in (result.to_json(), str(result), repr(result), result._repr_html_()):
            assert text
    assert judged
