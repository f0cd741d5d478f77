"""The evaluator whole: a machine with all rules and all words."""

from __future__ import annotations

import ast
from collections.abc import Callable

from dipapprox.language.functions import calls, library, specials
from dipapprox.language.functions.expressions import EXPRESSIONS
from dipapprox.language.functions.machine import Machine, Module
from dipapprox.language.functions.run import PathRun
from dipapprox.language.functions.statements import STATEMENTS

RULES = {**EXPRESSIONS, **STATEMENTS}

VOCABULARY = (specials,)
"""The modules that add words to the tables of `library`, beside the prelude."""

Load = Callable[[Machine, ast.AST, str], Module | None]


def evaluator(run: PathRun | None, load: Load, outside: frozenset[int] = frozenset()) -> Machine:
    """Return a machine.

    Args:
        run: The path, or None for a file.
        load: Returns the file that a name imports; None if it is none of the user's.
        outside: What is not changed: see `Machine`.
    """
    library.read_prelude()
    return Machine(RULES, calls.call, load, run, outside)
