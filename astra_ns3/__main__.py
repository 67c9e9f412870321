"""``python -m astra_ns3`` is the command ``astra-ns3``."""

from astra_ns3.cli.entry import main

main()
