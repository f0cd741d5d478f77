"""Many runs of the verifier: sweeps, the papers' tables, pictures.

In: specs of grids, and what papers print. Out: files of results, tables, pictures with matplotlib.
Read `sweep` and `tables` first, which are folders, then `pictures`.

What is wrong with a spec, its programs or a file is a `UserError`; so is `matplotlib` or
`distributed` that is wanted and missing. Processes that keep dying are a `WorkerLost`.
"""
