"""Smallest chunk first as ASTRA-sim had it in the spring of 2023: at the tag of its tutorial at ASPLOS."""


def smallest_first_2023(running, waiting, newcomer):
    """Less data first, of equals the newer; but while something runs, the first in line keeps its place."""
    begin = 1 if running and waiting else 0
    for place in range(begin, len(waiting)):
        if waiting[place].bytes >= newcomer.bytes:
            return place
    return len(waiting)
