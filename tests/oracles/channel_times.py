"""Times of channels of a collective library, from the words of its kernels alone; it imports nothing of the program.

Every rank of a ring does the same, so one stands for all. Times in picoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Ring:
    """A ring between as many servers as ranks. ``slices``: of a chunk; ``messages``: that each rank sends in all.

    ``message_ps``: from a rank to the next one, alone; ``line_ps``: how long a message keeps the line; ``copy_ps``: how
    long a kernel copies it; ``far_ps``: latency after that.
    """

    messages: int
    slices: int
    start_ps: int
    message_ps: int
    line_ps: int
    copy_ps: int
    far_ps: int

    def end_ps(self) -> int:
        """When a rank has handled its last message; messages follow each other on the line."""
        handled: list[int] = []
        line_free, copied = 0, 0
        for number in range(self.messages):
            sent = self.start_ps if number < self.slices else handled[number - self.slices]
            begin = max(sent, line_free)
            line_free = begin + self.line_ps
            copied = max(begin + self.message_ps, copied) + self.copy_ps
            handled.append(copied + self.far_ps)
        return handled[-1]

    def copying_ps(self) -> int:
        """The same where a kernel always has something to copy: closed form."""
        return self.start_ps + self.message_ps + self.messages * self.copy_ps + self.far_ps

    def alternating_ps(self) -> int:
        """The same with one slice, where kernel and line take turns: closed form."""
        return self.start_ps + self.messages * (self.message_ps + self.copy_ps + self.far_ps)
