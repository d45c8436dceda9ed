"""Users' code in Python: disciplines (`aqm`) and ends of flows (`ends`)."""
