"""The operator's pre-call hook: a Python function that the settings name (T-15)."""

from __future__ import annotations

import importlib

from app.core.settings import SettingsError
from app.tools.gatekeeper import Hook


def load_hook(name: str) -> Hook | None:
    """`package.module:function` → the function; None where nothing is named. Raises `SettingsError`: the desk never
    starts without the hook that it was told to ask."""
    if not name:
        return None
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as error:  # whatever the operator's module raises while it is imported
        raise SettingsError([f"TOOL_HOOK: {module}:{function} cannot be loaded ({type(error).__name__})"]) from None
    if not callable(found):
        raise SettingsError([f"TOOL_HOOK: {module}:{function} is no function"])
    hook: Hook = found
    return hook
