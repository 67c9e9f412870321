"""Programs of NPUs: the operations they yield, who shares a program, and what a driver asks of all."""
