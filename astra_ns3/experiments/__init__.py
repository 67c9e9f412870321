"""Runs from files to results: inputs, limits, output folders, metadata, forecasts."""
