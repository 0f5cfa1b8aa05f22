"""Other systems that the copilot may reach: `connections/<name>/policy.json` and the `request` tool (T-4..T-10)."""
