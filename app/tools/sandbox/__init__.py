"""The sandbox of custom tools (T-11): each call in a process of its own that can reach next to nothing.

`sandbox.Sandbox` is the door; `child/` is what runs on the other side of the pipe; `desk_tool` (top level) is what the
author of a tool imports.
"""
