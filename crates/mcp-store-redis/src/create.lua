#!lua
-- Stores a session, except at maxmemory, unless one with this id has not expired. Returns 1 if it is stored.
-- ARGV: owner, fencing number, record, expiry and now in ms.
if redis.call('PEXPIRETIME', KEYS[1]) > tonumber(ARGV[5]) then
    return 0
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'owner', ARGV[1], 'fence', ARGV[2], 'record', ARGV[3], 'version', 1)
redis.call('PEXPIREAT', KEYS[1], ARGV[4])
return 1
