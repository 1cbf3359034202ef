-- Batches that came in from outside, each once, however often it is tried: who sent it, and which one it was.
create table appended (
  query text    not null,
  batch integer not null,
  at    integer not null,
  primary key (query, batch)
);

-- What was processed after a position.
create index message_position on message (position) where position is not null;
