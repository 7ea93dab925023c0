"""Sentences about jobs, hosts, errors and the fleet, the same in every display. Pure.

Each subject has a record of facts and a function that makes two sentences from them: the answer and its
reason.
"""
