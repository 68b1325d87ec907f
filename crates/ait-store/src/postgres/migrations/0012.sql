-- Processes say every few seconds that they live. That is worth no log: after a crash of the server they say it again.

ALTER TABLE {s}.clients SET UNLOGGED;
