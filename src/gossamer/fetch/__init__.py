"""Ways to get a page. One file per way; what they share (guard, decoding) beside them."""
