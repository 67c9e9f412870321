"""Figures as plain data, and what draws them: matplotlib for files, plotly.js for pages."""
