"""Linear inequalities, exactly.

In: linear forms over samples and inputs. Out: whether inequalities hold together, optima with their
duals, what implies what. Read `form` first, then `programme`.
"""
