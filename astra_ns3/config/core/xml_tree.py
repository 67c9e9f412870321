"""XML as a tree whose elements know their places in the file."""

from __future__ import annotations

from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from astra_ns3.errors import Where, wrong

WHERE = " "
"""The attribute of an element that has its file and line; no attribute in a file can have this name."""


def xml_tree(text: str, source: str, what: str) -> Element:
    """Return the top element of ``what``; names lack their namespaces. Raises InputError with file and line."""
    parser, builder = expat.ParserCreate(namespace_separator=" "), TreeBuilder()

    def start(name: str, attributes: dict[str, str]) -> None:
        builder.start(name.rpartition(" ")[2], {**attributes, WHERE: f"{source}:{parser.CurrentLineNumber}"})

    def doctype(*_: str | int | None) -> None:
        """Refuse a document type: none is needed, and one could make a small file grow without end."""
        raise wrong(f"<!DOCTYPE> is not allowed in {what}", Where(source, parser.CurrentLineNumber))

    parser.StartElementHandler, parser.EndElementHandler = start, builder.end
    parser.CharacterDataHandler, parser.StartDoctypeDeclHandler = builder.data, doctype
    parser.buffer_text = True
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise wrong(f"is not XML: {expat.ErrorString(error.code)}", Where(source, error.lineno)) from error
    return builder.close()
