#!lua
-- Replaces the record of a session whose lease is current, except at maxmemory. Returns 1 if the lease is current.
-- ARGV: owner, fencing number and now in ms; the expiry in ms and the record.
local expires = redis.call('PEXPIRETIME', KEYS[1])
local found = redis.call('HMGET', KEYS[1], 'owner', 'fence')
if expires <= tonumber(ARGV[3]) or found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then
    return 0
end
redis.call('HSET', KEYS[1], 'record', ARGV[5])
redis.call('HINCRBY', KEYS[1], 'version', 1)
redis.call('PEXPIREAT', KEYS[1], ARGV[4])
return 1
