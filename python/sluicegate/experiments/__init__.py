"""Experiments: one engine that runs scenarios for many seeds, a store of finished runs, and the commands that use them."""
