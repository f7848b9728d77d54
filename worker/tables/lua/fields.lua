-- fields: some fields of a hash of a pool, with the position at which they were read
-- KEYS  1 matches, prizes or aliases  2 position  3 horizon
-- ARGV  fields, at most a few thousand
-- returns {{field, value, ...} of those that are there, position, horizon}

local found = {}
for i, value in ipairs(redis.call('HMGET', KEYS[1], unpack(ARGV))) do
  if value then
    found[#found + 1] = ARGV[i]
    found[#found + 1] = value
  end
end
return {found, redis.call('GET', KEYS[2]) or '0', redis.call('GET', KEYS[3]) or '0'}
