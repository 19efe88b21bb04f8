"""`moorage fit`: whether pods would fit now, how many, and what runs out first."""
