"""Expected values derived apart from the program."""
