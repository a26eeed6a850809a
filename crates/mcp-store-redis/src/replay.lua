#!lua flags=no-writes
-- Returns the entries of a stream from the sequence number ARGV[1], until they have ARGV[2] bytes. With ARGV[3] = 1, the client has
-- the event with this number, so its text is left out. An event has at most ARGV[4] bytes.
local found, left, next = {}, tonumber(ARGV[2]), ARGV[1]
while true do
    local part = redis.call('XRANGE', KEYS[1], next .. '-0', '+', 'COUNT', 16)
    for _, entry in ipairs(part) do
        if left <= 0 then
            return found
        end
        if ARGV[3] == '1' and entry[1] == ARGV[1] .. '-0' then
            entry = { entry[1], { 'e', '' } }
        end
        if #entry[2][2] > tonumber(ARGV[4]) then
            return redis.error_reply('TOOLARGE a stored event exceeds the limit of ' .. ARGV[4] .. ' bytes')
        end
        left = left - #entry[2][2]
        found[#found + 1] = entry
    end
    if #part < 16 then
        return found
    end
    next = string.format('%.0f', tonumber(string.match(part[16][1], '^%d+')) + 1)
end
