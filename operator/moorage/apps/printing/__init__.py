"""How commands print: tables, colours, quantities, and documents for programs."""
