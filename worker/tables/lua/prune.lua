-- prune: remove match records or parked analyses from before the horizon, one step of a scan
-- KEYS  1 matches or parked  2 horizon
-- ARGV  1 cursor  2 how many tokens stand before a value's instant in ms  3 how long behind the horizon they are kept, ms
-- returns {next cursor, number removed}; a cursor of '0' is the end

local horizon = tonumber(redis.call('GET', KEYS[2]) or '0') - tonumber(ARGV[3])
local pattern = '^' .. string.rep('%S+ ', tonumber(ARGV[2])) .. '(%S+)'
local reply = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', 500)
local removed = 0
for i = 1, #reply[2], 2 do
  if tonumber(string.match(reply[2][i + 1], pattern)) < horizon then
    redis.call('HDEL', KEYS[1], reply[2][i])
    removed = removed + 1
  end
end
return {reply[1], removed}
