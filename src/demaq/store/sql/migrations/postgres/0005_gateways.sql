-- Messages that are still to be sent, in the order in which they were processed.
create index message_held on message (position) where held > 0;

-- What became of messages that were to be sent: where each went, and how that ended.
create table delivery (
  message     bigint primary key,
  at          bigint not null,
  destination text not null,
  result      text not null
);

create index delivery_reply on delivery (destination) where result = 'replied';

-- What came in through gateways: the key by which a sender knows a message, so that it comes in once, and the connection
-- on which its sender wants a reply, if it does.
create table arrival (
  queue      text not null,
  key        text not null,
  message    bigint not null,
  at         bigint not null,
  connection text,
  primary key (queue, key)
);

create unique index arrival_connection on arrival (connection);

create index arrival_at on arrival (at);
