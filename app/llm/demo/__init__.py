"""A model server for demonstrations and tests: keyword rules or a script behind the OpenAI chat protocol.

It is no language model and says so. The desk talks to it through the same adapter as to any other endpoint.
"""
