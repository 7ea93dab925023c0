"""The rosters of a fleet: which worker works on which job."""
