"""Why a run took as long as it did: the chain of what determined its end, and what cost most."""
