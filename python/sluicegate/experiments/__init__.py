"""Experiments: one engine that runs scenarios for many seeds, a store of what was run, and what is asked of them."""
