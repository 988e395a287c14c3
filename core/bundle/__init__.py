"""Everything that was fitted, as one folder of plain files.

Begin with ``folder``: save all or nothing, load and verify every byte. ``manifest`` is what the
folder says about itself, with its format number and migrations; ``contents`` is what goes in.
"""
