"""Who works on what: the rosters of a fleet."""
