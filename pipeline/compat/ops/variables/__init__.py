"""Variables, their scopes, initial values and updates."""
