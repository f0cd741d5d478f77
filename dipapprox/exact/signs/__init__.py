"""Signs of exponential polynomials on intervals of ε, exactly.

In: functions of ε in a normal form. Out: where they are positive, zero and negative, their isolated
zeros, their suprema. Read `normal_form` first, then `nonnegative` and `zeros`.
"""
