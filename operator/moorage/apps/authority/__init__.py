"""`moorage admission-ca`: the authority that API servers believe when they ask the operator."""
