"""Where things lie in the table in which `texts` looks texts up: a header, then slots.

Which multiplier and shift give each known text a slot of its own is searched for when the table is made.
"""

from __future__ import annotations

L_MULTIPLIER, L_SHIFT = 0, 1
LOOKUP_HEADER = 2
L_LENGTH = 0  # bytes of the text; NO_TEXT where the slot is empty
L_WORD = 1  # its first eight bytes, filled up with zeros
L_VALUE = 2  # where its value stands in the array `values`
L_REST = 3  # where its further bytes begin in the array `rest`, eight to a word
SLOT_WIDTH = 4
NO_TEXT = 2**64 - 1
