"""The sandbox of custom tools (T-11): each call in a process of its own that can reach next to nothing.

`sandbox.Sandbox` is the door; `child/` is what runs on the other side of the pipe; `app/tools/author/desk_tool.py` is
what the author of a tool imports.
"""
