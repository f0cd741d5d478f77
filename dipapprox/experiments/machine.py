"""Where and with what something was measured."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("python-flint", "numpy", "igraph", "scipy")


def describe_machine() -> dict[str, str]:
    """Describe the machine, the software and the moment, as far as they can be found out."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "commit": _commit(),
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{memory:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        **{package: _version(package) for package in _PACKAGES},
    }


def _commit() -> str:
    commit = _output_of("git", "rev-parse", "--short", "HEAD")
    changed = _output_of("git", "status", "--porcelain", "--", "dipapprox", "programs")
    return (commit or "unknown") + (" with changes" if changed else "")


def _processor() -> str:
    name = platform.processor() or platform.machine()
    if platform.system() == "Darwin":
        return _output_of("sysctl", "-n", "machdep.cpu.brand_string") or name
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        return name
    return f"{found[1]} ({platform.machine()})" if found else name


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _output_of(*words: str) -> str:
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()
