"""Recording: what a journal holds, applied to a state of one's own and decided again."""
