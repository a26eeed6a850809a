#!lua flags=allow-oom
-- Renews or removes a session whose lease is current, also at maxmemory. Returns 1 if the lease is current.
-- ARGV: owner, fencing number and now in ms; the earliest expiry in ms, or nothing to remove the session.
local expires = redis.call('PEXPIRETIME', KEYS[1])
local found = redis.call('HMGET', KEYS[1], 'owner', 'fence')
if expires <= tonumber(ARGV[3]) or found[1] ~= ARGV[1] or found[2] ~= ARGV[2] then
    return 0
end
if not ARGV[4] then
    redis.call('DEL', KEYS[1])
elseif tonumber(ARGV[4]) > expires then
    redis.call('PEXPIREAT', KEYS[1], ARGV[4])
end
return 1
