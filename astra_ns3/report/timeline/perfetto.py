"""The part of Perfetto's trace format that a timeline needs, as protobuf messages made when they are first needed.

Names and numbers of fields are those of Perfetto's ``protos/perfetto/trace``: of ``trace_packet.proto``,
``interned_data.proto`` and, in ``track_event``, of ``track_event.proto``, ``track_descriptor.proto``,
``process_descriptor.proto``, ``thread_descriptor.proto``, ``counter_descriptor.proto`` and ``debug_annotation.proto``.
Perfetto's user interface and its trace processor read them; what is left out here they take for absent.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from astra_ns3.errors import needing

if TYPE_CHECKING:
    from google.protobuf.message import Message

SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4
"""Types of a ``TrackEvent``."""
STATE_CLEARED, NEEDS_STATE = 1, 2
"""Flags of a packet: it begins a sequence; it refers to names that the sequence has told."""
UNIT_BYTES = 3
"""The unit of a counter."""
ORDERED_BY_RANK = 3
"""Tracks stand below their parent by their ranks (``ChildTracksOrdering.EXPLICIT``)."""

_PACKAGE = "perfetto.protos"
# Message -> name, number and kind of each field; an asterisk: any number of them. Enumerations are whole numbers.
_MESSAGES: dict[str, tuple[tuple[str, int, str], ...]] = {
    "Trace": (("packet", 1, "*TracePacket"),),
    "TracePacket": (
        ("timestamp", 8, "uint64"),
        ("trusted_packet_sequence_id", 10, "uint32"),
        ("track_event", 11, "TrackEvent"),
        ("interned_data", 12, "InternedData"),
        ("sequence_flags", 13, "uint32"),
        ("track_descriptor", 60, "TrackDescriptor"),
    ),
    "TrackDescriptor": (
        ("uuid", 1, "uint64"),
        ("name", 2, "string"),
        ("process", 3, "ProcessDescriptor"),
        ("thread", 4, "ThreadDescriptor"),
        ("parent_uuid", 5, "uint64"),
        ("counter", 8, "CounterDescriptor"),
        ("child_ordering", 11, "int32"),
        ("sibling_order_rank", 12, "int32"),
    ),
    "ProcessDescriptor": (("pid", 1, "int32"), ("process_name", 6, "string")),
    "ThreadDescriptor": (("pid", 1, "int32"), ("tid", 2, "int32"), ("thread_name", 5, "string")),
    "CounterDescriptor": (("unit", 3, "int32"), ("unit_name", 6, "string")),
    "TrackEvent": (
        ("debug_annotations", 4, "*DebugAnnotation"),
        ("type", 9, "int32"),
        ("name_iid", 10, "uint64"),
        ("track_uuid", 11, "uint64"),
        ("counter_value", 30, "int64"),
        ("double_counter_value", 44, "double"),
        ("flow_ids", 47, "*fixed64"),
        ("terminating_flow_ids", 48, "*fixed64"),
    ),
    "DebugAnnotation": (
        ("name_iid", 1, "uint64"),
        ("uint_value", 3, "uint64"),
        ("int_value", 4, "int64"),
        ("string_value", 6, "string"),
    ),
    "InternedData": (("event_names", 2, "*EventName"), ("debug_annotation_names", 3, "*DebugAnnotationName")),
    "EventName": (("iid", 1, "uint64"), ("name", 2, "string")),
    "DebugAnnotationName": (("iid", 1, "uint64"), ("name", 2, "string")),
}


@cache
def trace_class() -> type[Message]:
    """The class of ``Trace``, of which a file is one; raises InputError if protobuf is missing."""
    with needing("protobuf", "timelines need"):
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    file = descriptor_pb2.FileDescriptorProto(name="astra_ns3/perfetto.proto", package=_PACKAGE, syntax="proto2")
    for message, fields in _MESSAGES.items():
        described = file.message_type.add(name=message)
        for name, number, kind in fields:
            _describe(described.field.add(name=name, number=number), kind)
    pool = descriptor_pool.DescriptorPool()  # of our own: somebody else may have loaded Perfetto's whole files
    pool.Add(file)
    trace: type[Message] = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{_PACKAGE}.Trace"))
    return trace


def _describe(field: Message, kind: str) -> None:
    """Give a field its type and how often it may stand."""
    word = kind.removeprefix("*")
    field.label = field.LABEL_REPEATED if word != kind else field.LABEL_OPTIONAL
    if word in _MESSAGES:
        field.type, field.type_name = field.TYPE_MESSAGE, f".{_PACKAGE}.{word}"
    else:
        field.type = getattr(field, f"TYPE_{word.upper()}")
