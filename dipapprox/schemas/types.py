"""What the types of all files and answers are made of."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from dipapprox.source import BEYOND_ASCII

END = r"$(?!\n)"
"""Of a text, in patterns: `$` alone lets a line end follow."""

RATIONAL = rf"^-?[0-9]+(/[0-9]+)?{END}"

Count = Annotated[int, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1)]
Line = Annotated[
    str,
    Meta(
        pattern=rf"^[^\x00-\x1f{BEYOND_ASCII}]+{END}",
        description="one line, without what steers terminals or turns writing around",
    ),
]
"""What answers show: it must not look like another of their lines."""
Hash = Annotated[str, Meta(pattern=f"^[0-9a-f]{{64}}{END}")]
Digest = Annotated[str, Meta(pattern=f"^sha256:[0-9a-f]{{64}}{END}")]

_NAME_OR_RATIONAL = rf"^([A-Za-z_][A-Za-z_0-9]*|-?[0-9]+/[0-9]+){END}"

PlainValue = (
    int
    | Annotated[
        str,
        Meta(
            pattern=_NAME_OR_RATIONAL,
            description='a whole number, a rational "p/q", or a named value',
        ),
    ]
)

PlainValues = Annotated[
    tuple[PlainValue, ...], Meta(description="one value per cell, in order of declaration")
]


class Statement(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A JSON object with exactly these fields."""
