-- Which lives of servers this shard's settled requests rely on. Returns the server's own life, then the members of RELIED.

local answer = call('SMEMBERS', RELIED)
table.insert(answer, 1, life_of_server())
return answer
