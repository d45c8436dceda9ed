"""The envelope of a discipline: the links and loads in which it does what it promises."""
