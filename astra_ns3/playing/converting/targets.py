"""The formats that a workload can be written in."""

from __future__ import annotations

from astra_ns3.workload.files.flows.writing import WRITERS

CHAKRA, CHAKRA_JSON, ASTRA_SIM, SIMAI, MODEL = "chakra", "chakra-json", "astra-sim", "simai", "model"
TARGETS = (CHAKRA, CHAKRA_JSON, ASTRA_SIM, SIMAI, MODEL, *WRITERS)
