-- Frontier.apply_change. args: {moves, decided, rules, known_life}. `moves` says which state follows on which, for the
-- shard that decides; the others are given no moves, and are in the `decided` state from now on. Where there is
-- neither, the call is refused. `rules` is false where they stay as they are. Returns 1 if every host
-- must be placed anew (see change_rules); then the server's life, and the job's state before and after: empty if the call was refused. In another life than the
-- known one nothing is done.

local moves, decided, packed, known_life = unpack(args)
local life = life_of_server()
if is_another(life, known_life) then return {0, life, job.state, job.state} end
local state = moves[job.state] or decided
if state == '' then return {0, life, job.state, ''} end
local changes = {}
if state ~= job.state then changes[1], changes[2] = 'state', state end
local placing = packed and change_rules(packed, changes) or 0
if state == 'finished' or state == 'cancelled' then sharing.leave() end
if state == 'finished' then -- what was settled needs nothing any more: every link was followed
  for _, reliance in ipairs(call('SMEMBERS', RELIED)) do call('UNLINK', relied_key(reliance)) end
  call('UNLINK', RELIED)
end
if #changes > 0 then call('HSET', META, unpack(changes)) end
return {placing, life, job.state, state}
