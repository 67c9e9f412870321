#!/usr/bin/env bash
# Compiles chakra.proto to compiled.py beside it: a description of its messages, of which protobuf makes classes.
#
# usage: scripts/compile_proto.sh [PYTHON]
#
# PYTHON must have grpcio-tools, which brings the compiler. What is written is the same for every version of it, and
# needs none of the code that protoc writes for Python, which only goes with some versions of protobuf.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../astra_ns3/workload/files/chakra"
"${1:-python3}" - <<'PYTHON'
import base64
import tempfile
import textwrap
from pathlib import Path

from grpc_tools import protoc

with tempfile.NamedTemporaryFile() as output:
    if protoc.main(["protoc", "-I.", f"--descriptor_set_out={output.name}", "chakra.proto"]):
        raise SystemExit("protoc refused chakra.proto")
    text = base64.b64encode(Path(output.name).read_bytes()).decode()
lines = "\n".join(f'    b"{line}"' for line in textwrap.wrap(text, 112))
Path("compiled.py").write_text(
    '"""What ``chakra.proto`` says, compiled by ``scripts/compile_proto.sh``; not to be edited."""\n\n'
    "from __future__ import annotations\n\n"
    f"FILE_DESCRIPTOR_SET = (\n{lines}\n)\n"
    '"""In base64."""\n'
)
PYTHON
