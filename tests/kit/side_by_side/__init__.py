"""Spiders written for Scrapy, run by Scrapy and by Gossamer on pages made for them, and their items compared.

:mod:`.reading` finds a spider's selectors in its source, :mod:`.pages` makes pages that match them,
:mod:`.server` answers for every host on loopback, :mod:`.runs` runs one spider in a separate process, and
:mod:`.comparison` compares.
"""
