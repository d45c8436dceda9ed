"""Experiments: an engine that runs scenarios for many seeds, a store of finished runs, and the functions above them."""
