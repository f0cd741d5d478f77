"""Random choices in closed form.

In: circuits over the weights of choices, and loops that choose. Out: probabilities as functions of
ε, and whether weights are probabilities at all. Read `circuits` first; `absorption` is for loops,
`validity` for weights.
"""
