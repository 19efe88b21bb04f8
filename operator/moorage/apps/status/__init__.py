"""`moorage status`: whether all is well with the profiles and who serves them, on one screen."""
