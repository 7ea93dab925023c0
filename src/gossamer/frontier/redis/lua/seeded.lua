-- FleetFrontier.finish_seeding. args: {known_life}. Returns the server's life; in another than the known one, which may
-- have lost seeds, nothing is done. In the append-only file the mark stands behind the seeds: a server that loses the
-- end of the file loses the mark before it loses a seed.

local life = life_of_server()
if not is_another(life, args[1]) then call('HSET', META, 'seeded', 1) end
return life
