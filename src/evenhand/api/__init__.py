"""What the command line and a notebook stand on: a study is run, read back, scored with and compared.

Not here: how any of it is done (flows and tasks), nor what is printed (cli).
"""

__all__ = [
    "champion",
    "comparing",
    "drafting",
    "launch",
    "reading",
    "viewing",
]
