-- Frontier.add. args: {batch, token, fingerprint, known_life}: with a token only while that lease is in force (outlinks
-- of a page that has more of them than one call takes). Returns accepted, duplicates, too deep, and the server's life;
-- nothing if the lease is lost. In another life than the known one nothing is done.

if args[2] and not read_leases({args[2]}, {args[3]})[1] then return {} end
local life = life_of_server()
if is_another(life, args[4]) then return {0, 0, 0, life} end
local accepted, duplicates, too_deep = admit(args[1])
save_hosts()
save_job()
if job.state == 'running' then sharing.register_job(now) end
return {accepted, duplicates, too_deep, life}
