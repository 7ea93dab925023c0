"""What is said of jobs, hosts, errors and the fleet: whole sentences, the same wherever they are shown. Pure.

Each subject has its facts, a record of all that the sentences rest on, and a function that makes two
sentences of them: the first answers, the second says why.
"""
