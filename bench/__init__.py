"""Measurements of the desk beside the plainest program that does the same: ratios, taken side by side in one run."""
