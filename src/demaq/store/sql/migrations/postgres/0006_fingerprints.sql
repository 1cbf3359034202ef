-- By which a message that comes with the key of another is known to be another. Of what came before this was kept, nobody
-- knows: it is the same as anything.
alter table arrival add column fingerprint text;
