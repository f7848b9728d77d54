-- outbox_age: for how long the oldest entry of the outbox has been seen, as far as it is watched
-- KEYS  1 heads of the outbox  2 source -> when it was first seen, in ms by Redis' clock, which decides nothing else
-- ARGV  1 most sources to watch
-- returns ms, 0 if none waits

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local watched = redis.call('HGETALL', KEYS[2])
local oldest, kept = now, 0
for i = 1, #watched, 2 do
  if redis.call('HEXISTS', KEYS[1], watched[i]) == 1 then
    oldest = math.min(oldest, tonumber(watched[i + 1]))
    kept = kept + 1
  else
    redis.call('HDEL', KEYS[2], watched[i])
  end
end
if kept < tonumber(ARGV[1]) then
  for _, source in ipairs(redis.call('HRANDFIELD', KEYS[1], ARGV[1] - kept)) do
    redis.call('HSETNX', KEYS[2], source, string.format('%.0f', now))
  end
end
return math.floor(now - oldest)
