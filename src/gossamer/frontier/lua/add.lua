-- Frontier.add. args: {batch, token, fingerprint}: with a token only while that lease is in force (outlinks of a page
-- that has more of them than one call takes). Returns accepted, duplicates, too deep; nothing if the lease is lost.

if args[2] and not read_leases({args[2]}, {args[3]})[1] then return {} end
local accepted, duplicates, too_deep = admit(args[1])
save_hosts()
save_job()
return {accepted, duplicates, too_deep}
