-- waiting: the whole outbox
-- KEYS  1 outbox  2 heads of the outbox
-- returns {source, head, entry, ...}

local heads = redis.call('HGETALL', KEYS[2])
local found = {}
for i = 1, #heads, 2 do
  found[#found + 1] = heads[i]
  found[#found + 1] = heads[i + 1]
  found[#found + 1] = redis.call('HGET', KEYS[1], heads[i])
end
return found
