"""The flow from end to end, under virtual time: what is given, what happens when, what is expected. One rule a file."""
