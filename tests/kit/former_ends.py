"""The former stored ends of jobs, and the reasons and errors that replace them."""

from __future__ import annotations

from gossamer.core.lifecycle import FinishReason

FORMER_ENDS = {
    "": (None, ""),
    "finished": (FinishReason.FINISHED, ""),
    "max_pages": (FinishReason.MAX_PAGES, ""),
    "not begun": (FinishReason.NOT_BEGUN, ""),
    "error: OSError: the disk is full: 3 %": (FinishReason.ERROR, "OSError: the disk is full: 3 %"),
}
