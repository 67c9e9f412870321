"""Forecasts from the inputs of a run alone: messages, packets, tables, time and memory."""
