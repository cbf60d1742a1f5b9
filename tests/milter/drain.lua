-- Begins a message, waits for the file `go`, and ends it: -D socket=... -D begun=FILE -D go=FILE -D mail=FILE
local conn = mt.connect(socket)
mt.conninfo(conn, "client.example.net", "198.51.100.7")
mt.mailfrom(conn, "<sender@example.net>")
mt.rcptto(conn, "<user@example.org>")
mt.header(conn, "Subject", "slow")
io.open(begun, "w"):close()
while true do
    local file = io.open(go, "r")
    if file then file:close() break end
    mt.sleep(0.02)
end
mt.bodyfile(conn, mail)
mt.eom(conn)
mt.echo(mt.getreply(conn) == SMFIR_REPLYCODE and "rejected" or mt.getreply(conn) == SMFIR_CONTINUE and "passed" or "broken")
mt.disconnect(conn)
