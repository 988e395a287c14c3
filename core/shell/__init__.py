"""What commands share: settings from a file, and how long loops show that they are alive.

The command itself is ``likewise.core.cli``, which imports nothing heavy before it runs something.
"""
