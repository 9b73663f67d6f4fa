"""The vocabulary of compaction, with no I/O: items of a checkpoint, operations on them, messages as it sees them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class How:
    """`forced`: a user asked for it. `seconds` is how long a model may take; none at all means `local`."""

    forced: bool = False
    again: bool = False
    seconds: float | None = None
