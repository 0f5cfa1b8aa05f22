"""The same tool step in two well-known agent frameworks. Each runs in a virtual environment of the bench's own."""
