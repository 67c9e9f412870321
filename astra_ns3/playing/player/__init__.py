"""Plays the programs of all NPUs; NPUs that are in step are played as one."""
