-- scan: one step over a hash of a pool, with the position at which it was read
-- KEYS  1 matches, prizes or aliases  2 position  3 horizon
-- ARGV  1 cursor  2 about how many fields
-- returns {next cursor ('0' is the end), {field, value, ...}, position, horizon}

local reply = redis.call('HSCAN', KEYS[1], ARGV[1], 'COUNT', ARGV[2])
return {reply[1], reply[2], redis.call('GET', KEYS[2]) or '0', redis.call('GET', KEYS[3]) or '0'}
