"""What only development and tests need: the embedded MongoDB and Valkey, and the launcher behind `desk up`."""
