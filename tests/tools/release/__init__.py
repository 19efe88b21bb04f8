"""A release: `make release` writes into dist/ all that is handed out, the same bytes each time."""
