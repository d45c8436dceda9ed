"""Parameters of disciplines for a link, by the rules of their papers."""
