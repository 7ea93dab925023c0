-- Put hosts where they belong by the rules in force. args: {keys, last}: `last` ends the field `placing`, if it is
-- still this one.

local keys, last = unpack(args)
if #keys > 0 then
  load_hosts(keys)
  for _, key in ipairs(keys) do touch(hosts[key]) end
  save_hosts()
end
if last and call('HGET', META, 'placing') == last then call('HDEL', META, 'placing') end
return 1
