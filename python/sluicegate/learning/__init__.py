"""From captures to a scenario: what can be told of a link, its queue and its traffic, and what cannot."""
