-- Messages that other processes put aside, until a transaction takes them into the log. After a crash of the server they
-- are gone, and made again.
create unlogged table staged (
  stage      text   not null,
  number     bigint not null,
  queue      text   not null,
  body       text   not null,
  properties jsonb  not null,
  origin     text   not null,
  cause      bigint,
  rule       text,
  rank       bigint not null,
  priority   bigint not null,
  due        bigint,
  keys       text,
  at         timestamptz not null default now(),
  primary key (stage, number)
);
