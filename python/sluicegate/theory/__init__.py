"""Analytic models: what the papers derive, as functions that simulations are measured against."""
