"""The words of the house: frozen records, the life-cycle table, the seams. No I/O, no vendor, no asyncio."""
