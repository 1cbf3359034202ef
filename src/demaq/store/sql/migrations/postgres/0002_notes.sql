-- What a node says of itself, for other processes to read.
create table note (
  name text primary key,
  text text    not null,
  at   bigint  not null
);
