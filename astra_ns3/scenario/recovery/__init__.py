"""Policies of detection and recovery, a file each; the registry is :mod:`astra_ns3.scenario.recovery.policies`."""
