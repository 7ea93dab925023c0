-- Put hosts where they belong by the rules in force. args: {keys, last, moving}: `last` ends the field `placing`, if it
-- is still this one; `moving`: their turns are to be moved, too.

local keys, last, moving = unpack(args)
if #keys > 0 then
  load_hosts(keys)
  for _, key in ipairs(keys) do
    local h = touch(hosts[key])
    if moving then move_turn(h, rules, now) end
  end
  save_hosts()
end
if last and call('HGET', META, 'placing') == last then call('HDEL', META, 'placing') end
return 1
