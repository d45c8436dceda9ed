"""What is written in Python by others: disciplines (`aqm`) and ends of flows (`ends`)."""
