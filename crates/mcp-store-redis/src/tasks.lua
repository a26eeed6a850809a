-- The operations of a task store. KEYS[1] is the start of all keys: a hash for each task, and the ids of all tasks by expiry, of
-- those that have not ended, and of those of each owner, in order; and the size of all tasks.
-- ARGV: the operation and its arguments. Returns what the operation says below.
local base = KEYS[1]
local operation = ARGV[1]

local function task(id)
    return base .. ':task:' .. id
end

local function owned(owner)
    return base .. ':owner:' .. owner
end

local function remove(id)
    local owner = redis.call('HGET', task(id), 'owner')
    if not owner then
        return 0
    end
    redis.call('DECRBY', base .. ':bytes', redis.call('HSTRLEN', task(id), 'json'))
    redis.call('DEL', task(id))
    redis.call('ZREM', owned(owner), id)
    redis.call('ZREM', base .. ':unfinished', id)
    redis.call('ZREM', base .. ':expiry', id)
    return 1
end

local function sweep(now)
    local count = 0
    while true do
        local ids = redis.call('ZRANGEBYSCORE', base .. ':expiry', '-inf', now, 'LIMIT', 0, 1000)
        if #ids == 0 then
            return count
        end
        for _, id in ipairs(ids) do
            count = count + remove(id)
            redis.call('ZREM', base .. ':expiry', id)
        end
    end
end

-- Returns whether the record of a task may have this JSON: it is not larger, or the limit is not reached.
local function fits(id, json, max)
    local more = #json - redis.call('HSTRLEN', task(id), 'json')
    return more <= 0 or tonumber(redis.call('GET', base .. ':bytes') or 0) + more <= tonumber(max)
end

-- id, version, expiry ('inf' for never), ended (0 or 1), JSON
local function write(id, version, expires, ended, json)
    redis.call('INCRBY', base .. ':bytes', #json - redis.call('HSTRLEN', task(id), 'json'))
    redis.call('HSET', task(id), 'version', version, 'ended', ended, 'json', json)
    redis.call('ZADD', base .. ':expiry', expires, id)
    if ended == '1' then
        redis.call('ZREM', base .. ':unfinished', id)
    else
        redis.call('ZADD', base .. ':unfinished', 0, id)
    end
end

-- after (empty: from the first), limit; returns the JSON of the tasks
local function page(key, after, limit)
    local from = after == '' and '-' or '(' .. after
    local found = {}
    for _, id in ipairs(redis.call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, limit)) do
        local json = redis.call('HGET', task(id), 'json')
        if json then
            found[#found + 1] = json
        end
    end
    return found
end

if operation == 'create' then
    -- id, version, expiry, ended, JSON, maximum of bytes, owner, now, maximum of tasks, and of tasks of an owner
    local id, owner = ARGV[2], ARGV[8]
    sweep(ARGV[9])
    if redis.call('EXISTS', task(id)) == 1 then
        return 'conflict'
    elseif redis.call('ZCARD', base .. ':expiry') >= tonumber(ARGV[10]) then
        return 'full'
    elseif redis.call('ZCARD', owned(owner)) >= tonumber(ARGV[11]) then
        return 'full for owner'
    elseif not fits(id, ARGV[6], ARGV[7]) then
        return 'full of bytes'
    end
    redis.call('HSET', task(id), 'owner', owner)
    redis.call('ZADD', owned(owner), 0, id)
    write(id, ARGV[3], ARGV[4], ARGV[5], ARGV[6])
    return 'done'
elseif operation == 'put' then
    -- id, version, expiry, ended, JSON, maximum of bytes, the expected version
    local found = redis.call('HMGET', task(ARGV[2]), 'version', 'ended')
    if found[1] ~= ARGV[8] or found[2] ~= '0' then
        return 'conflict'
    elseif not fits(ARGV[2], ARGV[6], ARGV[7]) then
        return 'full of bytes'
    end
    write(ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6])
    return 'done'
elseif operation == 'get' then
    local json = redis.call('HGET', task(ARGV[2]), 'json')
    return json and { json } or {}
elseif operation == 'list' then
    return page(owned(ARGV[4]), ARGV[2], ARGV[3])
elseif operation == 'unfinished' then
    return page(base .. ':unfinished', ARGV[2], ARGV[3])
elseif operation == 'remove' then
    return remove(ARGV[2])
elseif operation == 'sweep' then
    return sweep(ARGV[2])
end
return redis.error_reply('unknown operation')
