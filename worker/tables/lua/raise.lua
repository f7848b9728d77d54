-- raise: move the horizon forward, never back
-- KEYS  1 horizon
-- ARGV  1 horizon_ms
-- returns where it stands

local now = redis.call('GET', KEYS[1]) or '0'
if tonumber(ARGV[1]) > tonumber(now) then
  redis.call('SET', KEYS[1], ARGV[1])
  return ARGV[1]
end
return now
