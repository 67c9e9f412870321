"""The messages of ``chakra.proto`` as classes, made by protobuf when a trace is first read or written."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any, NamedTuple

from astra_ns3.errors import InputError, needing
from astra_ns3.workload.files.chakra.compiled import FILE_DESCRIPTOR_SET

PACKAGE = "astra_ns3.chakra"


class Broken(InputError):
    """Bytes are no message of the kind they should be; whoever reads the file says where."""


class Messages(NamedTuple):
    """Classes of messages, and what protobuf raises where bytes are none of them."""

    metadata: Any
    node: Any
    played_node: Any
    node_columns: Any
    attribute: Any
    decode_error: type[Exception]


@cache
def messages() -> Messages:
    """The classes; raises InputError if protobuf is missing."""
    with needing("protobuf", "Chakra's traces need"):
        from google.protobuf import descriptor_pb2, descriptor_pool, message, message_factory
    pool = descriptor_pool.DescriptorPool()  # of our own: somebody else may have loaded Chakra's schema
    files = descriptor_pb2.FileDescriptorSet.FromString(base64.b64decode(FILE_DESCRIPTOR_SET))
    pool.AddSerializedFile(files.file[0].SerializeToString())

    def made(name: str) -> Any:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))

    return Messages(
        made("GlobalMetadata"),
        made("Node"),
        made("PlayedNode"),
        made("NodeColumns"),
        made("Attribute"),
        message.DecodeError,
    )
