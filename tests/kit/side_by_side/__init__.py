"""Spiders written for Scrapy, run by Scrapy and by Gossamer on pages made for them, and their items compared.

:mod:`.reading` finds in a spider's source what it looks for, :mod:`.pages` makes pages that have it,
:mod:`.server` answers for every host on loopback, :mod:`.runs` runs one spider in a process of its own, and
:mod:`.comparison` compares.
"""
