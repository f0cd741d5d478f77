"""Why something is not proved.

Functions of the kernel return what is proved. Where that is nothing, where it is too much work, or
what is read is no proof, they raise one of these; their docstrings do not say so again.
"""

from __future__ import annotations


class NotProved(Exception):
    """What was asked for is not proved; nothing is said about whether it is true."""


class Refuted(NotProved):
    """A step does not hold as it is written."""


class Refused(NotProved):
    """A step asks for more work or memory than the kernel spends on one."""


class BadProof(NotProved):
    """What is read is no proof: a field is missing, unknown, or of another type."""
