"""Two runs side by side: what differs in what they were told, and in what came out."""
