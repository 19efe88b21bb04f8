"""The page: static files, and the documents that commands print, over HTTP (docs/adr/0017)."""
