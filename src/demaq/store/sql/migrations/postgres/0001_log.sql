-- The log: messages, their membership in slices, resets, index entries, versions of the program, and the ledger.
-- Times are microseconds since 1970, in UTC.

create table meta (
  name  text primary key,
  value bigint not null
);

insert into meta (name, value) values ('next_id', 1), ('position', 0);

create table message (
  id         bigint primary key,
  queue      text    not null,
  body       text    not null,
  properties jsonb   not null,               -- {"name": ["xs:type", "text"], …}
  created    bigint not null,
  origin     text    not null,
  cause      bigint,
  rule       text,
  rank       bigint not null,               -- the priority of the queue
  priority   bigint not null,
  due        bigint,                        -- for messages in echo queues
  position   bigint,                        -- null: waiting
  processed  bigint,
  version    bigint,
  failed     bigint not null default 0,
  retained   bigint not null default 0,     -- how many slices it is a member of
  held       bigint not null default 0,     -- 1: it is still to be sent
  ended      bigint                         -- when the last of them was reset, or it was processed without any
);

create index message_waiting  on message (rank desc, priority desc, id) where position is null and due is null;
create index message_timer    on message (due, id) where position is null and due is not null;
create index message_retained on message (queue, position) where retained > 0;
create index message_ended    on message (ended) where ended is not null;
create index message_cause    on message (cause) where cause is not null;
create index message_error    on message (id) where origin = 'error';
create index message_queue    on message (queue, id);

-- Who is in a slice in its current lifetime. A reset deletes.
create table member (
  slicing  text    not null,
  key      text    not null,
  position bigint not null,
  message  bigint not null,
  primary key (slicing, key, position)
);

create table reset (
  message bigint not null,
  slicing text    not null,
  key     text    not null,
  primary key (message, slicing, key)
);

-- The values that paths have in retained messages, for lookups by key. `kind` is t for text, n for numbers.
create table entry (
  queue    text    not null,
  path     text    not null,
  kind     text    not null,
  value    text    not null,
  position bigint not null,
  message  bigint not null,
  primary key (queue, path, kind, value, position)
);

create index entry_message on entry (message);

create table version (
  number      bigint primary key,
  position    bigint,                        -- null: not in force yet
  created     bigint not null,
  application text    not null,
  plan        text    not null,
  refused     text                           -- why it cannot come into force
);

-- A message that failed can be processed again once, as another message.
create table retry (
  message bigint primary key,
  again   bigint not null
);

create table ledger (
  queue     text primary key,
  outside   bigint not null default 0,
  produced  bigint not null default 0,
  completed bigint not null default 0,
  failed    bigint not null default 0,
  reclaimed bigint not null default 0
);
