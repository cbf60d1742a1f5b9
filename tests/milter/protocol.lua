-- Corners of the milter protocol, run by miltertest: -D socket=... -D spam=FILE -D ham=FILE -D version=N
-- Each case prints one line of TAP through mt.echo.
local number = 0
local function check(name, good)
    number = number + 1
    mt.echo((good and "ok " or "not ok ") .. number .. " - version " .. version .. ": " .. name)
end

local function read(path)
    local file = assert(io.open(path, "r"))
    local text = file:read("*a")
    file:close()
    return text
end

-- Headers and body of a message, lines ended by CRLF as MTAs hand them over.
local function parse(text)
    local head, body = text:match("^(.-)\n\n(.*)$")
    local fields = {}
    for line in (head:gsub("\n([ \t])", "\1%1") .. "\n"):gmatch("(.-)\n") do
        local name, value = line:match("^([^:]+):[ ]?(.*)$")
        fields[#fields + 1] = { name, (value:gsub("\1", "\n")) }
    end
    return fields, (body:gsub("\n", "\r\n"))
end

local spam_fields, spam_body = parse(read(spam))
local ham_fields, ham_body = parse(read(ham))

-- Version 2 knows the first six bits of the steps and no quarantine.
local V2_ACTIONS, V2_STEPS = 0x3f, 0x7f

local function open(ip)
    local conn = mt.connect(socket)
    if conn == nil then error("no connection") end
    local failed
    if version == "2" then
        failed = mt.negotiate(conn, 2, V2_ACTIONS, V2_STEPS)
    else
        failed = mt.negotiate(conn, nil, nil, nil)
    end
    if failed ~= nil then error(failed) end
    mt.macro(conn, SMFIC_CONNECT, "j", "mx.example.org")
    mt.conninfo(conn, "client.example.net", ip or "198.51.100.7")
    return conn
end

local function envelope(conn, id)
    mt.mailfrom(conn, "<offers@spam.example>")
    mt.macro(conn, SMFIC_RCPT, "i", id)
    mt.rcptto(conn, "<user@example.org>")
end

local function end_of_header(conn)
    if not mt.test_option(conn, SMFIP_NOEOH) then mt.eoh(conn) end
end

local function content(conn, fields, body)
    for _, field in ipairs(fields) do mt.header(conn, field[1], field[2]) end
    end_of_header(conn)
    mt.bodystring(conn, body)
end

local function message(conn, id, fields, body)
    envelope(conn, id)
    content(conn, fields, body)
    mt.eom(conn)
    return mt.getreply(conn)
end

-- What is asked for, and nothing else.
local conn = open()
check("headers may be added", mt.test_action(conn, SMFIF_ADDHDRS))
check("headers may be changed", mt.test_action(conn, SMFIF_CHGHDRS))
check("the body is not changed", not mt.test_action(conn, SMFIF_CHGBODY))
check("recipients are not changed", not mt.test_action(conn, SMFIF_ADDRCPT) and not mt.test_action(conn, SMFIF_DELRCPT))
check("no quarantine unless configured", not mt.test_action(conn, SMFIF_QUARANTINE))
check("HELO is not asked for", mt.test_option(conn, SMFIP_NOHELO))
check("the envelope is", not mt.test_option(conn, SMFIP_NOMAIL) and not mt.test_option(conn, SMFIP_NORCPT))
if version ~= "2" then
    check("end of header is not asked for", mt.test_option(conn, SMFIP_NOEOH))
    check("headers need no answer", mt.test_option(conn, SMFIP_NR_HDR))
    check("the leading space of headers is kept", mt.test_option(conn, SMFIP_HDR_LEADSPC))
    check("body chunks may be skipped", mt.test_option(conn, SMFIP_SKIP))
end

-- Several messages on one connection.
check("spam is rejected", message(conn, "Q1", spam_fields, spam_body) == SMFIR_REPLYCODE)
check("ham after it passes", message(conn, "Q2", ham_fields, ham_body) == SMFIR_CONTINUE)
check("untouched", not mt.eom_check(conn, MT_HDRADD) and not mt.eom_check(conn, MT_HDRCHANGE) and not mt.eom_check(conn, MT_HDRDELETE))

-- RSET anywhere: the next message is judged by itself alone.
envelope(conn, "Q3")
mt.abort(conn)
envelope(conn, "Q4")
for _, field in ipairs(spam_fields) do mt.header(conn, field[1], field[2]) end
mt.abort(conn)
envelope(conn, "Q5")
content(conn, spam_fields, spam_body)
mt.abort(conn)
check("ham after aborted spam passes", message(conn, "Q6", ham_fields, ham_body) == SMFIR_CONTINUE)
check("spam after that is rejected", message(conn, "Q7", spam_fields, spam_body) == SMFIR_REPLYCODE)
mt.disconnect(conn)

-- Bodies in many pieces, and none.
conn = open()
envelope(conn, "Q8")
for _, field in ipairs(spam_fields) do mt.header(conn, field[1], field[2]) end
end_of_header(conn)
for i = 1, #spam_body, 7 do mt.bodystring(conn, spam_body:sub(i, i + 6)) end
mt.eom(conn)
check("spam in pieces of seven bytes is rejected", mt.getreply(conn) == SMFIR_REPLYCODE)
envelope(conn, "Q9")
mt.header(conn, "Subject", "nothing")
end_of_header(conn)
mt.eom(conn)
check("a message without a body passes", mt.getreply(conn) == SMFIR_CONTINUE)
mt.disconnect(conn)

-- A body beyond the limit (2 MB): enough is enough.
conn = open()
envelope(conn, "Q15")
for _, field in ipairs(spam_fields) do mt.header(conn, field[1], field[2]) end
end_of_header(conn)
mt.bodystring(conn, spam_body)
local filler, skipped = string.rep("filler\r\n", 7500), 0
for i = 1, 40 do
    mt.bodystring(conn, filler)
    if string.char(mt.getreply(conn)) == "s" then skipped = i break end
end
if version ~= "2" then
    check("a large body is skipped once enough is read", skipped > 30 and skipped < 40)
else
    check("without skip, all of a large body is taken", skipped == 0)
end
mt.eom(conn)
check("and judged by what was read", mt.getreply(conn) == SMFIR_REPLYCODE)
mt.disconnect(conn)

-- Forged headers, in any case and number.
conn = open()
envelope(conn, "Q10")
for i = 1, 300 do mt.header(conn, i % 2 == 0 and "X-Refrain" or "x-REFRAIN-" .. i, "match; campaign=0") end
content(conn, ham_fields, ham_body)
mt.eom(conn)
check("a message with forged headers passes", mt.getreply(conn) == SMFIR_CONTINUE)
check("without them", mt.eom_check(conn, MT_HDRDELETE, "x-refrain") and mt.eom_check(conn, MT_HDRDELETE, "x-refrain-299"))
mt.disconnect(conn)

-- Very many headers.
conn = open()
envelope(conn, "Q11")
for i = 1, 5000 do mt.header(conn, "X-Filler-" .. i, string.rep("filler ", 20)) end
content(conn, spam_fields, spam_body)
mt.eom(conn)
check("very many headers do no harm", mt.getreply(conn) ~= SMFIR_TEMPFAIL)
mt.disconnect(conn)

-- Clients without an address, and with IPv6 ones.
conn = open("unspec")
check("a client of unknown family is served", message(conn, "Q12", spam_fields, spam_body) == SMFIR_REPLYCODE)
mt.disconnect(conn)
conn = open("2001:db8::1")
check("a client with an IPv6 address is served", message(conn, "Q13", ham_fields, ham_body) == SMFIR_CONTINUE)

-- Rudely: gone in the middle of everything.
mt.disconnect(conn, false)
for stage = 1, 4 do
    conn = open()
    if stage > 1 then mt.mailfrom(conn, "<offers@spam.example>") end
    if stage > 2 then mt.rcptto(conn, "<user@example.org>") end
    if stage > 3 then content(conn, spam_fields, spam_body) end
    mt.disconnect(conn, false)
end
conn = mt.connect(socket)
mt.disconnect(conn, false)
conn = open()
check("after rude clients the next one is served", message(conn, "Q14", ham_fields, ham_body) == SMFIR_CONTINUE)
mt.disconnect(conn)
