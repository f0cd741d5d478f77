"""stub"""

from dipapprox.language import ast


def parse_dip(text: str, name: str = "<text>") -> ast.Program:
    raise NotImplementedError
