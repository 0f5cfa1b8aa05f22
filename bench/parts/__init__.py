"""The three parts of the bench."""
