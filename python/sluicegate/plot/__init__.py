"""Figures: the house style, and the drawings that are made of results."""
