"""Collectives as NCCL plays them, measured as nccl-tests does."""
