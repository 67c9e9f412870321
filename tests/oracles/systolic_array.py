"""Cycles of one fold on a systolic array, cell by cell: operands move on by one cell a cycle."""

from __future__ import annotations


def fold_cycles(rows: int, columns: int, steps: int, *, loaded: bool, drained: bool = False) -> int:
    """Until the last cell has done its last step and, if they are ``drained``, results have left.

    ``loaded``: what stays in the array comes in first, a row a cycle; then each cell does a step as soon as the cells
    above and to the left of it have done theirs.
    """
    done = [[0] * columns for _ in range(rows)]
    begin = rows if loaded else 0
    for row in range(rows):
        for column in range(columns):
            above = done[row - 1][column] if row else begin
            left = done[row][column - 1] if column else begin
            # The first step comes one cycle after the neighbours' first, the others each a cycle later.
            first = max(above - steps if row else begin - 1, left - steps if column else begin - 1) + 1
            done[row][column] = first + steps
    last = max(max(line) for line in done)
    return last + (rows if drained else 0)
