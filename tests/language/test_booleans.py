"""Booleans: cells, variables, and conditions that are assigned."""

from __future__ import annotations

HEADER = """\
input a, b in bool
input n in {0, 1}
output out in bool
output bit in {0, 1}
adjacent l0 1
"""


"""What a program computes from a, b and n."""
