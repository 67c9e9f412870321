"""Forecasts of a run from its inputs alone: messages, packets, tables, time and memory."""
