"""`moorage run`: everything is built, started in order and supervised here."""
