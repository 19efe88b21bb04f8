"""The page: its server, and an invented cluster to build it against."""
