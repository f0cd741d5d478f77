"""A rigorous verifier of differential privacy for programs with Gaussian and Laplace noise.

In: programs, as text, files or functions, and questions about them. Out: answers, proved. The names
are those of `__init__.pyi`, which type checkers read; they are loaded when they are first used: the
command line starts with what it needs. Read `questions` first for what can be asked, `semantics`
for what a program means, `privacy` for how a claim is proved, `kernel` for what a proof rests on.
"""

from importlib import import_module
from pathlib import Path

_LINES = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8").splitlines()
_HOME_OF = {name: home for _, home, _, name, _, _ in map(str.split, _LINES)}
"""Where the public names live: `from home import name as name`."""

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> object:
    """Load a public name (PEP 562)."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dipapprox' has no attribute {name!r}")
    import_module("dipapprox.deferred")
    found: object = getattr(import_module(_HOME_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*(name for name in globals() if name.startswith("__")), *__all__})
