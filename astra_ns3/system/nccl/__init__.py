"""Plans collectives as NCCL plays them, channel by channel."""
