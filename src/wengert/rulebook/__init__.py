"""Rules: how they are declared, found, read, derived from, called and checked."""
