"""Many runs of the verifier: sweeps, the papers' tables, pictures.

In: specs of grids, and what papers print. Out: files of results, tables, pictures with matplotlib.
Read `sweep` and `tables` first, which are folders, then `pictures`.
"""
