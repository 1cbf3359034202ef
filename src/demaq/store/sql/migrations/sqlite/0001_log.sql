-- The log: messages, their membership in slices, resets, index entries, versions of the program, and the ledger.
-- Times are microseconds since 1970, in UTC.

create table meta (
  name  text primary key,
  value integer not null
) without rowid;

insert into meta (name, value) values ('next_id', 1), ('position', 0);

create table message (
  id         integer primary key,
  queue      text    not null,
  body       text    not null,
  properties text    not null,               -- {"name": ["xs:type", "text"], …}
  created    integer not null,
  origin     text    not null,
  cause      integer,
  rule       text,
  rank       integer not null,               -- the priority of the queue
  priority   integer not null,
  due        integer,                        -- for messages in echo queues
  position   integer,                        -- null: waiting
  processed  integer,
  version    integer,
  failed     integer not null default 0,
  retained   integer not null default 0,     -- how many slices it is a member of
  held       integer not null default 0,     -- 1: it is still to be sent
  ended      integer                         -- when the last of them was reset, or it was processed without any
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
  position integer not null,
  message  integer not null,
  primary key (slicing, key, position)
) without rowid;

create table reset (
  message integer not null,
  slicing text    not null,
  key     text    not null,
  primary key (message, slicing, key)
) without rowid;

-- The values that paths have in retained messages, for lookups by key. `kind` is t for text, n for numbers.
create table entry (
  queue    text    not null,
  path     text    not null,
  kind     text    not null,
  value    text    not null,
  position integer not null,
  message  integer not null,
  primary key (queue, path, kind, value, position)
) without rowid;

create index entry_message on entry (message);

create table version (
  number      integer primary key,
  position    integer,                        -- null: not in force yet
  created     integer not null,
  application text    not null,
  plan        text    not null,
  refused     text                           -- why it cannot come into force
);

-- A message that failed can be processed again once, as another message.
create table retry (
  message integer primary key,
  again   integer not null
);

create table ledger (
  queue     text primary key,
  outside   integer not null default 0,
  produced  integer not null default 0,
  completed integer not null default 0,
  failed    integer not null default 0,
  reclaimed integer not null default 0
) without rowid;
