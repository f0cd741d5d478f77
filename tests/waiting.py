"""Waiting for what other processes do, however long they take on a busy machine."""

HOPELESS = 600
"""Seconds after which a process is given up that would never end: only defects take as long."""
