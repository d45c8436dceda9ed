"""What a scenario says of its traffic: paths, groups of flows, connection vectors, responsiveness."""
