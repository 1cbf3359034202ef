-- Queries that SQLite and PostgreSQL understand alike. Parameters are written :name.

-- name: take_ids
-- Take ids out of use; gives the next one that is free.
update meta set value = value + :number where name = 'next_id' returning value;

-- name: position
-- The last position that was given.
select value from meta where name = 'position';

-- name: set_position
update meta set value = :position where name = 'position' and value < :position;

-- name: insert_message
insert into message (id, created, queue, body, properties, origin, cause, rule, rank, priority, due, keys)
values (:id, :created, :queue, :body, :properties, :origin, :cause, :rule, :rank, :priority, :due, :keys);

-- name: count_in
-- The ledger, when messages come into a queue.
insert into ledger (queue, outside, produced) values (:queue, :outside, :produced)
on conflict (queue) do update
set outside = ledger.outside + excluded.outside, produced = ledger.produced + excluded.produced;

-- name: count_done
-- The ledger, when messages of a queue were processed.
insert into ledger (queue, completed, failed) values (:queue, :completed, :failed)
on conflict (queue) do update
set completed = ledger.completed + excluded.completed, failed = ledger.failed + excluded.failed;

-- name: count_reclaimed
update ledger set reclaimed = reclaimed + :number where queue = :queue;

-- name: finish_message
-- A message gets its position: only if it has none.
update message
set position = :position, processed = :at, version = :version, failed = :failed, retained = :retained, held = :held,
    ended = :ended
where id = :message and position is null;

-- name: waiting
select {columns} from message where position is null and due is null
order by rank desc, priority desc, id limit :limit;

-- name: count_waiting
-- How many wait, counted up to a limit.
select count(*) from (select id from message where position is null and due is null
                      order by rank desc, priority desc, id limit :limit) as next;

-- name: processed
select {columns} from message where position > :after and queue = :queue order by position limit :limit;

-- name: next_due
select min(due) from message where position is null and due is not null;

-- name: held
select {columns} from message where held > 0 and position > :after order by position limit :limit;

-- name: insert_delivery
insert into delivery (message, at, destination, result) values (:message, :at, :destination, :result)
on conflict (message) do update set at = excluded.at, destination = excluded.destination, result = excluded.result;

-- name: insert_arrival
insert into arrival (queue, key, message, at, connection, fingerprint)
values (:queue, :key, :message, :at, :connection, :fingerprint)
on conflict do nothing;

-- name: arrival
select message, connection, fingerprint from arrival where queue = :queue and key = :key;

-- name: forget_arrivals
-- Of messages that came before a time: but for those that wait, or were processed only after it.
delete from arrival where at < :before and not exists (
  select 1 from message where id = arrival.message and (position is null or processed >= :before)
);

-- name: insert_member
insert into member (slicing, key, position, message) values (:slicing, :key, :position, :message);

-- name: insert_reset
insert into reset (message, slicing, key) values (:message, :slicing, :key) on conflict do nothing;

-- name: insert_entry
insert into entry (queue, path, kind, value, position, message)
values (:queue, :path, :kind, :value, :position, :message) on conflict do nothing;

-- name: drop_index
delete from entry where queue = :queue and path = :path and kind = :kind;

-- name: indexes
select distinct queue, path, kind from entry;

-- name: insert_version
-- A version that is not in force yet; gives its number.
insert into version (number, created, application, plan)
select coalesce(max(number), 0) + 1, :created, :application, :plan from version returning number;

-- name: versions
select number, position, created, application, plan, refused from version order by number;

-- name: latest_version
-- The newest version that was not refused.
select coalesce(max(number), 0) from version where refused is null;

-- name: version
select number, position, created, application, plan, refused from version where number = :number;

-- name: adopt_version
update version set position = :position where number = :number;

-- name: refuse_version
update version set refused = :reason where number = :number;

-- name: slicings
select distinct slicing from member;

-- name: end_slicing
-- A slicing is gone; gives those who were members of its slices.
delete from member where slicing = :slicing returning message;

-- name: insert_appended
insert into appended (query, batch, at) values (:query, :batch, :at) on conflict do nothing;

-- name: insert_retry
insert into retry (message, again) values (:message, :again) on conflict do nothing;

-- name: retry_of
select again from retry where message = :message;

-- name: set_rank
update message set rank = :rank where queue = :queue and position is null and rank <> :rank;

-- name: waiting_queues
select distinct queue from message where position is null;

-- name: set_note
insert into note (name, text, at) values (:name, :text, :at)
on conflict (name) do update set text = excluded.text, at = excluded.at;

-- name: drop_note
delete from note where name = :name;

-- name: notes
select name, text, at from note order by name;

-- name: slices
select slicing, key, count(*) from member
where slicing = coalesce(:slicing, slicing) and (slicing, key) > (:after_slicing, :after_key)
group by slicing, key order by slicing, key limit :limit;

-- name: resets_of
select slicing, key from reset where message = :message order by slicing, key;

-- name: ledger
select queue, outside, produced, completed, failed, reclaimed from ledger order by queue;

-- name: count_messages
select queue,
       sum(case when position is null then 1 else 0 end),
       sum(case when position is not null and retained > 0 then 1 else 0 end),
       sum(case when position is not null and retained = 0 and held > 0 then 1 else 0 end),
       sum(case when position is not null and retained = 0 and held = 0 then 1 else 0 end)
from message group by queue;
