-- The values of indexed paths in a message, from when it was made on: ["digest of the paths", [number, "text"], …].
alter table message add column keys text;

-- What a node says of itself, for other processes to read.
create table note (
  name text primary key,
  text text    not null,
  at   integer not null
);
