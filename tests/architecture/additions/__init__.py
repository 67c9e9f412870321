"""What it takes to add each kind of thing: which files, which lines, and a script that uses the new thing."""
