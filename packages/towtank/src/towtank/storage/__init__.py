"""Objects at rest, and the verbs that move them."""
