"""Two small systems for demonstrations and tests: a parts inventory, and a hook that takes messages.

They are what the shipped `connections/` point to; nothing of the desk depends on them.
"""
