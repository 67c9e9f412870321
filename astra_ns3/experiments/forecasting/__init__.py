"""What a run will send and take, from its inputs alone: messages, packets, tables, time and memory."""
