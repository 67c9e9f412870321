"""The messages of ``chakra.proto`` as classes, made by protobuf when a trace is first read or written."""

from __future__ import annotations

import base64
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Protocol

from astra_ns3.errors import InputError, needing
from astra_ns3.workload.files.chakra.compiled import FILE_DESCRIPTOR_SET

PACKAGE = "astra_ns3.chakra"


class Broken(InputError):
    """Bytes are no message of the kind they should be; whoever reads the file says where."""


class Message(Protocol):
    """A message of protobuf's, whose fields are made when the schema is loaded: no stub knows their types."""

    def __getattr__(self, field: str) -> Any: ...  # of the kind that the schema gives the field

    def __setattr__(self, field: str, value: Any) -> None: ...  # protobuf checks it by the schema


class MessageClass(Protocol):
    """A class of messages, made when the schema is loaded."""

    FromString: Callable[[bytes], Message]
    DESCRIPTOR: Message

    def __call__(self, **fields: Any) -> Message:  # protobuf checks each by the schema
        """Make a message."""


class Messages(NamedTuple):
    """Classes of messages, and what protobuf raises where bytes are none of them."""

    metadata: MessageClass
    node: MessageClass
    played_node: MessageClass
    node_columns: MessageClass
    attribute: MessageClass
    decode_error: type[Exception]


@cache
def messages() -> Messages:
    """The classes; raises InputError if protobuf is missing."""
    with needing("protobuf", "Chakra's traces need"):
        from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
    pool = descriptor_pool.DescriptorPool()  # of our own: somebody else may have loaded Chakra's schema
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(FILE_DESCRIPTOR_SET))
    pool.AddSerializedFile(files.file[0].SerializeToString())

    def made(name: str) -> MessageClass:
        found: MessageClass = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        return found

    return Messages(
        made("GlobalMetadata"),
        made("Node"),
        made("PlayedNode"),
        made("NodeColumns"),
        made("Attribute"),
        message.DecodeError,
    )
