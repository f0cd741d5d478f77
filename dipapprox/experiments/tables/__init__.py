"""The papers' tables, rerun: published numbers beside ours, every difference explained."""
