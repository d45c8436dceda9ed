"""Figures: the house style, and what is drawn from tables, whichever package made them."""
