"""The papers' tables, rerun: published numbers beside ours, every difference explained.

In: `tables.toml` and the printed figures. Out: tables in Markdown and CSV. Read `table` first, then
`rows`.
"""
