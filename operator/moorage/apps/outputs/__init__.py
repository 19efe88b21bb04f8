"""What `-o json` and `-o yaml` write, field by field: one type a kind of document."""
