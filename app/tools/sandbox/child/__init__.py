"""What runs inside the sandbox's process: it imports the standard library and `desk_tool`, never the desk.

The desk starts it as a top-level package named `child` (see `app.tools.sandbox.process`), so its imports are relative.
"""
