"""Plays the programs of a fixed loop's roles against each other, without time, and finds those that would deadlock.

Each role's program is run once, step by step, so that little of it is held at a time. A collective is done when each
role in it has issued it; a message, when both of its ends are posted that have to be. What an NPU does next doesn't
depend on time. So this comes to the end if and only if nothing waits for itself, in a circle of the order within each
role and of what waits for what. Besides, roles must issue the collectives that they share in orders that agree, as MPI
and NCCL ask for: that is played, too, as if each were waited for at once.

Waiting for any of several counts as waiting for all. A collective without data or partners holds nobody up.

Beside it goes the least time that each role can be at, the same for all of its NPUs: computations take their time,
communication takes none. A collective is done when the last of its roles has come to it, or later by its update time. A
message has come when both ends are posted, and waiting for any of several is over with the first. No run is faster:
there, too, a collective begins when each role has issued it. A handle's ``issue_ps`` is here when it is done at the
earliest, once that is known. Its ``done`` is what programs may see of that, which is as little as in a run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from astra_ns3.collectives.uneven import are_sent
from astra_ns3.errors import ProgramMismatch, ProgramsDeadlock, wrong
from astra_ns3.network.records import Chain
from astra_ns3.playing.programs.operations import Access, Compute, Posting, Program, Receive, Send, Waiting
from astra_ns3.playing.programs.role_programs import RolePrograms
from astra_ns3.playing.programs.roles import Role
from astra_ns3.system.communicator import Communicator, describe
from astra_ns3.system.matching import alike, in_words
from astra_ns3.system.request import CollectiveRequest, Handle, MessageRequest

# A collective: communicator, key, number.
_Key = tuple[Communicator | None, Hashable, int]
# The end of what isn't done.
_NOT_YET = -1
# A message between two roles: the pairs of NPUs, and its tag.
_Way = tuple[tuple[tuple[int, int], ...], Hashable]


@dataclass(eq=False)
class _Walk:
    """A role's way through its program."""

    role: Role
    program: Program
    factor: Fraction
    """The least of its NPUs' computations."""
    answer: Handle | None = None
    waits_for: Waiting | None = None
    time_ps: int = 0
    computed_ps: int = 0
    computed_until_ps: int = 0
    ended: bool = False
    posted: dict[tuple[Communicator | None, Hashable], int] = field(default_factory=dict)
    order: deque[_Key] = field(default_factory=deque)
    """Collectives that it has issued and some other role hasn't come to in its own order."""

    def go_on(self, waited: Waiting) -> None:
        """Move the role's clock to the end of a wait."""
        self.time_ps = max(self.time_ps, min(_ends_ps(waited), default=0))


_TELLING_PASSES = 3
_MOST_PASSES = 100
"""The most passes of programs of several roles that are played for their chain: each more adds what each role computes
in it."""


@dataclass(eq=False)
class _Meeting:
    """A collective that some role has issued: by whom, and who is to come."""

    request: CollectiveRequest
    first: Role
    absent: set[int]
    handles: list[tuple[Handle, int]] = field(default_factory=list)
    """Each with its update time."""
    time_ps: int = 0
    """When the last that has come was there."""


@dataclass(eq=False)
class _Letter:
    """A message of which one end is posted."""

    poster: Role
    peers: frozenset[int]
    """Numbers of the roles that are to post the other end."""
    request: Send | Receive
    handle: Handle
    time_ps: int


def check_end(programs: RolePrograms) -> None:
    """Raise ProgramsDeadlock or ProgramMismatch if fixed programs can't come to their end.

    Where passes are alike, few tell of all: the k-th of a kind meets the k-th, whoever is ahead, so what a pass waits
    for is of the same pass or the one before.
    """
    if not programs.reactive:
        _Check(programs, min(programs.passes, _TELLING_PASSES) if programs.passes_alike else None).run()


def check_programs(programs: RolePrograms, least: Sequence[Fraction] | None = None) -> Chain:
    """Return the longest chain of what is computed and waited for; of a reactive loop nothing is known.

    ``least``: of each NPU, what a computation takes at least, over its time by itself (None: 1).

    Raises ProgramsDeadlock or ProgramMismatch if fixed programs can't come to their end.
    """
    if programs.reactive:
        return Chain()
    # NPUs that run one program only wait for messages of each other, in a pass or from one to the next, so from the
    # second pass on each takes as long: all that the one before has left is waited for in it, if at all.
    if not programs.passes_alike or programs.passes <= _TELLING_PASSES:
        return _Check(programs, least=least).run()
    if len(programs.roles) > 1:
        return _Check(programs, min(programs.passes, _MOST_PASSES), least).run_on(programs.passes)
    shorter, longer = (_Check(programs, passes, least).run() for passes in (_TELLING_PASSES - 1, _TELLING_PASSES))
    more = programs.passes - _TELLING_PASSES
    return longer._replace(time_ps=longer.time_ps + more * (longer.time_ps - shorter.time_ps))


class _Check:
    def __init__(
        self, programs: RolePrograms, passes: int | None = None, least: Sequence[Fraction] | None = None
    ) -> None:
        self._passes = programs.passes if passes is None else passes
        self._grid = programs.grid
        self._updates_ps = programs.updates_ps
        self._walks = [
            _Walk(
                role,
                programs.program(role, passes),
                Fraction(1) if least is None else min(least[npu] for npu in role.ranks),
            )
            for role in programs.roles
        ]
        self._role_of = programs.role_of
        self._grid_of = cache(self._grid.of)
        self._members: dict[Communicator | None, frozenset[int]] = {}
        self._pairs: dict[tuple[int, Communicator, bool], tuple[tuple[int, int], ...]] = {}
        self._meetings: dict[_Key, _Meeting] = {}
        self._letters: dict[_Way, deque[_Letter]] = {}
        self._meeting_of: dict[Handle, _Meeting] = {}
        self._letter_of: dict[Handle, _Letter] = {}
        self._ready = deque(self._walks)

    def run_on(self, passes: int) -> Chain:
        """As :meth:`run`; ``passes``, if more, add at least what a role computes in each."""
        self.run()
        more = passes - self._passes
        for walk in self._walks:
            each_ps = walk.computed_ps // self._passes
            walk.time_ps = max(walk.time_ps, walk.computed_until_ps + more * each_ps)
        return self._longest()

    def run(self) -> Chain:
        while self._ready:
            self._advance(self._ready.popleft())
        for walk in self._walks:
            if not walk.ended:
                raise ProgramsDeadlock(f"the programs wait for each other: {'; '.join(self._circle(walk))}")
        self._check_orders()
        for meeting in self._meetings.values():
            absent = self._walks[min(meeting.absent)].role
            raise ProgramMismatch(
                f"role '{meeting.first.name}' issues {in_words(meeting.request)}, which role '{absent.name}' never does"
            )
        for letters in self._letters.values():
            letter = letters[0]
            raise ProgramMismatch(f"role '{letter.poster.name}' {_posts(letter.request)}, {self._nobody(letter)}")
        return self._longest()

    def _longest(self) -> Chain:
        last = max(self._walks, key=lambda walk: walk.time_ps)
        return Chain(last.time_ps, last.role.ranks[0])

    def _advance(self, walk: _Walk) -> None:
        """Let a role go on until it has to wait."""
        while True:
            try:
                operation = walk.program.send(walk.answer)
            except StopIteration:
                walk.ended = True
                return
            walk.answer = None
            if isinstance(operation, Waiting):
                if _NOT_YET in _ends_ps(operation):
                    walk.waits_for = operation
                    return
                walk.go_on(operation)
            elif isinstance(operation, CollectiveRequest | Send | Receive | Access):
                walk.answer = self._post(walk, operation)
            elif isinstance(operation, Compute):
                _check_times(walk.role, operation)
                took_ps = operation.time_ps if operation.times_ps is None else min(operation.times_ps)
                took_ps = took_ps * walk.factor.numerator // walk.factor.denominator
                walk.time_ps += took_ps
                walk.computed_ps += took_ps
                walk.computed_until_ps = walk.time_ps

    def _post(self, walk: _Walk, operation: Posting) -> Handle:
        if isinstance(operation, CollectiveRequest):
            return self._issue(walk, operation)
        if isinstance(operation, Access):  # nobody else has a part in it
            return Handle(walk.role.ranks[0], -1, operation.request(0), walk.time_ps, done=True)
        return self._post_end(walk, operation)

    def _issue(self, walk: _Walk, request: CollectiveRequest) -> Handle:
        members = self._members_of(request.communicator)
        if walk.role.number not in members:
            raise ProgramMismatch(f"role '{walk.role.name}' issues {in_words(request)}, of which it is no member")
        counter = request.communicator, request.key
        number = walk.posted.get(counter, 0)
        walk.posted[counter] = number + 1
        nothing_to_do = not self._has_something_to_do(request)
        layer = request.label.layer
        update_ps = self._updates_ps[layer] if isinstance(layer, int) and not nothing_to_do else 0
        end_ps = walk.time_ps + update_ps if nothing_to_do or len(members) == 1 else _NOT_YET
        handle = Handle(walk.role.ranks[0], -1, request, end_ps, done=nothing_to_do)
        if len(members) == 1:
            return handle
        key = *counter, number
        meeting = self._meetings.get(key)
        if meeting is None:
            meeting = self._meetings[key] = _Meeting(request, walk.role, set(members))
        elif not alike(request, meeting.request):
            raise ProgramMismatch(
                f"role '{walk.role.name}' issues {in_words(request)} where role '{meeting.first.name}' issues "
                f"{in_words(meeting.request)}: number {number} of a communicator must be the same for all its members"
            )
        meeting.absent.discard(walk.role.number)
        meeting.handles.append((handle, update_ps))
        meeting.time_ps = max(meeting.time_ps, walk.time_ps)
        if meeting.absent:
            self._meeting_of[handle] = meeting
        else:
            del self._meetings[key]
            for issued, more_ps in meeting.handles:
                self._done(issued, meeting.time_ps + more_ps)
        if not nothing_to_do:
            walk.order.append(key)
            self._settle_order(walk)
        return handle

    def _post_end(self, walk: _Walk, operation: Send | Receive) -> Handle:
        """One end of a message; it matches the first with its tag and between its NPUs that lacks this end."""
        sends = isinstance(operation, Send)
        way = self._way(walk.role, operation), operation.tag
        peers = frozenset(self._role_of[npu].number for npu in _peers(operation).ranks)
        request = MessageRequest(0, 0, operation.bytes, operation.tag, operation.label, operation.rendezvous)
        eager = sends and not operation.rendezvous
        handle = Handle(walk.role.ranks[0], -1, request, walk.time_ps if eager else _NOT_YET, done=eager)
        waiting = self._letters.get(way)
        if not waiting or isinstance(waiting[0].request, Send) == sends:
            letter = _Letter(walk.role, peers, operation, handle, walk.time_ps)
            self._letters.setdefault(way, deque()).append(letter)
            self._letter_of[handle] = letter
            return handle
        letter = waiting.popleft()
        if not waiting:
            del self._letters[way]
        other = letter.request
        if (other.bytes, other.rendezvous) != (operation.bytes, operation.rendezvous):
            raise ProgramMismatch(
                f"role '{walk.role.name}' {_posts(operation)} where role '{letter.poster.name}' {_posts(other)}: "
                "both ends of a message must say the same of it"
            )
        latest_ps = max(walk.time_ps, letter.time_ps)
        self._done(handle, walk.time_ps if sends else latest_ps)
        self._done(letter.handle, latest_ps if sends else letter.time_ps)
        return handle

    def _done(self, handle: Handle, time_ps: int) -> None:
        """A handle counts as done from a time on; its role goes on if that was the last that it waited for."""
        if not handle.done:
            handle.issue_ps = time_ps
        self._meeting_of.pop(handle, None)
        self._letter_of.pop(handle, None)
        walk = self._walks[self._role_of[handle.npu].number]
        if walk.waits_for is not None and _NOT_YET not in _ends_ps(walk.waits_for):
            walk.go_on(walk.waits_for)
            walk.waits_for = None
            self._ready.append(walk)

    def _settle_order(self, walk: _Walk) -> None:
        """Take away what all of its roles have come to in their own order, beginning at one of them."""
        changed = [walk]
        while changed:
            order = changed.pop().order
            while order:
                key = order[0]
                roles = [self._walks[number] for number in self._members_of(key[0])]
                if any(not other.order or other.order[0] != key for other in roles):
                    break
                for other in roles:
                    other.order.popleft()
                changed += roles

    def _check_orders(self) -> None:
        """All programs have ended: whose order of collectives is left contradicts another one's."""
        for walk in self._walks:
            if not walk.order:
                continue
            path: list[_Walk] = []
            while walk not in path:
                path.append(walk)
                key = walk.order[0]
                absent = [self._walks[number] for number in sorted(self._members_of(key[0]))]
                behind = [other for other in absent if other.order and other.order[0] != key]
                if not behind:
                    return  # some role never issues it, which is told by its name
                walk = behind[0]
            circle = path[path.index(walk) :]
            lines = [
                f"role '{one.role.name}' issues {_named(one.order[0])} before {_named(before.order[0])}"
                for before, one in zip(circle, [*circle[1:], circle[0]], strict=True)
            ]
            raise ProgramsDeadlock(f"the orders of collectives contradict each other: {'; '.join(lines)}")

    def _circle(self, walk: _Walk) -> Iterator[str]:
        """Who waits for whom, from the first role that comes up again on the way of waiting."""
        path: dict[int, str] = {}
        while walk.role.number not in path:
            assert walk.waits_for is not None
            handle = next(handle for handle in walk.waits_for.handles if handle.issue_ps == _NOT_YET)
            what, others = self._awaited(handle)
            other = next((self._walks[number] for number in sorted(others) if self._walks[number].waits_for), None)
            never = "" if other is not None else ", which comes to its end without it"
            other = other or self._walks[min(others)]
            path[walk.role.number] = f"role '{walk.role.name}' waits for {what} from role '{other.role.name}'{never}"
            if never:
                return iter(path.values())
            walk = other
        begin = list(path).index(walk.role.number)
        return iter(list(path.values())[begin:])

    def _awaited(self, handle: Handle) -> tuple[str, frozenset[int] | set[int]]:
        """Return what a handle waits for, in words, and the roles that have yet to do it."""
        meeting = self._meeting_of.get(handle)
        if meeting is not None:
            return in_words(meeting.request), meeting.absent
        letter = self._letter_of[handle]
        what = "the receiver of" if isinstance(letter.request, Send) else "the"
        return f"{what} message {letter.request.tag!r}", letter.peers

    def _nobody(self, letter: _Letter) -> str:
        names = ", ".join(f"'{self._walks[number].role.name}'" for number in sorted(letter.peers))
        does = "receives" if isinstance(letter.request, Send) else "sends"
        return f"which role {names} never {does} so"

    def _members_of(self, communicator: Communicator | None) -> frozenset[int]:
        """The roles in a communicator; raises ProgramMismatch if it has a part of one only."""
        if communicator not in self._members:
            ranks = range(self._grid.npus) if communicator is None else communicator.ranks
            if max(ranks) >= self._grid.npus:
                raise wrong(f"there are {self._grid.npus} NPUs", str(describe(communicator)))
            found = {self._role_of[npu].number: self._role_of[npu] for npu in ranks}
            for role in found.values():
                if left := set(role.ranks) - set(ranks):
                    raise ProgramMismatch(
                        f"{describe(communicator)} has a part of role '{role.name}' only, without NPU {min(left)}: "
                        "the NPUs of a role take part in the same collectives"
                    )
            self._members[communicator] = frozenset(found)
        return self._members[communicator]

    def _has_something_to_do(self, request: CollectiveRequest) -> bool:
        grid = self._grid_of(request.communicator)
        dimensions = range(len(grid.sizes)) if request.dimensions is None else request.dimensions
        sends = request.bytes > 0 and (request.counts is None or are_sent(request.counts))
        return sends and any(dimension in grid.wide for dimension in dimensions)

    def _way(self, role: Role, operation: Send | Receive) -> tuple[tuple[int, int], ...]:
        """Source and destination of each NPU of a role, in one order whoever asks."""
        peers, sends = _peers(operation), isinstance(operation, Send)
        key = role.number, peers, sends
        if key not in self._pairs:
            self._pairs[key] = tuple(sorted(message_pairs(role, operation)))
            if max(peers.ranks) >= self._grid.npus:
                raise wrong(f"role '{role.name}' {_posts(operation)}: there are {self._grid.npus} NPUs")
        return self._pairs[key]


def message_pairs(role: Role, operation: Send | Receive) -> list[tuple[int, int]]:
    """Source and destination of a message for each NPU of a role; raises ProgramMismatch."""
    peers = [peer_of(role, operation, place) for place in range(len(role.ranks))]
    sends = isinstance(operation, Send)
    return [(own, peer) if sends else (peer, own) for own, peer in zip(role.ranks, peers, strict=True)]


def _ends_ps(waited: Waiting) -> list[int]:
    return [handle.issue_ps for handle in waited.handles]


def _check_times(role: Role, operation: Compute) -> None:
    """Raise ProgramMismatch unless each NPU of a role has a time of its own, or all have one."""
    if operation.times_ps is not None and len(operation.times_ps) != len(role.ranks):
        raise ProgramMismatch(
            f"role '{role.name}' computes {operation.label.part or 'something'} for {len(operation.times_ps)} times, "
            f"expected one for each of its {len(role.ranks)} NPUs"
        )


def peer_of(role: Role, operation: Send | Receive, place: int) -> int:
    """The NPU at the other end of a message for the one in a ``place`` of a role; raises ProgramMismatch."""
    peers = _peers(operation)
    if len(peers) != len(role.communicator):
        raise ProgramMismatch(
            f"role '{role.name}' {_posts(operation)}: expected as many NPUs there as the role has, "
            f"{len(role.communicator)}"
        )
    return peers.ranks[place]


def _peers(operation: Send | Receive) -> Communicator:
    return operation.to if isinstance(operation, Send) else operation.source


def _posts(operation: Send | Receive) -> str:
    does, preposition = ("sends", "to") if isinstance(operation, Send) else ("receives", "from")
    how = " by rendezvous" if operation.rendezvous else ""
    return f"{does} {operation.bytes} bytes tagged {operation.tag!r} {preposition} {_peers(operation)}{how}"


def _named(key: _Key) -> str:
    communicator, name, number = key
    which = f"number {number}" if name is None else f"number {number} of key {name!r}"
    return f"collective {which} of {describe(communicator)}"
