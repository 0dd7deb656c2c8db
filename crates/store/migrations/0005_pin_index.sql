-- What was accepted, without the definitions: a process that starts reads all of it, and a definition is
-- longer than everything else about its tool.
CREATE INDEX pin_accepted ON pin (server, tool, hash, accepted_by);
