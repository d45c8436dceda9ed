"""Figures: the house style, and what is drawn of tables, whoever made them."""
