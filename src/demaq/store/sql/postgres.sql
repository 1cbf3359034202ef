-- Queries in the words of PostgreSQL. Lists are arrays.

-- name: waiting_besides
-- The next messages, without those that are being processed already.
select {columns} from message where position is null and due is null
and id not in (select unnest(:besides::bigint[])) order by rank desc, priority desc, id limit :limit;

-- name: waiting_light
-- With the bytes of their bodies.
select {light}, octet_length(body) from message where position is null and due is null
order by rank desc, priority desc, id limit :limit;

-- name: waiting_light_besides
select {light}, octet_length(body) from message where position is null and due is null
and id not in (select unnest(:besides::bigint[])) order by rank desc, priority desc, id limit :limit;

-- name: due
select {columns} from message where position is null and due <= :now order by due, id limit :limit;

-- name: members
select m.slicing, m.key, m.position, m.message
from unnest(:slicings::text[], :keys::text[]) as s (slicing, key)
join member m on m.slicing = s.slicing and m.key = s.key
order by m.position;

-- name: reset_slices
-- The current lifetime of slices ends; gives those who were in them, once for each.
delete from member using unnest(:slicings::text[], :keys::text[]) as s (slicing, key)
where member.slicing = s.slicing and member.key = s.key
returning member.message;

-- name: retained
select queue, position, id from message where retained > 0 and queue = any(:queues) order by position;

-- name: find
select e.queue, e.path, e.kind, e.value, e.position, e.message
from unnest(:queues::text[], :paths::text[], :kinds::text[], :values::text[]) as s (queue, path, kind, value)
join entry e on e.queue = s.queue and e.path = s.path and e.kind = s.kind and e.value = s.value
order by e.position;

-- name: messages
select {columns} from message where id = any(:ids);

-- name: messages_light
select {light} from message where id = any(:ids);

-- name: bodies
select id, body from message where id = any(:ids);

-- name: heads
select id, left(body, :length) from message where id = any(:ids);

-- name: release
-- Messages lose a slice each time that they are named; gives how many they have left.
update message
set retained = retained - lost.number, ended = case when retained - lost.number + held = 0 then :at else ended end
from (select id, count(*) as number from unnest(:ids::bigint[]) as s (id) group by id) as lost
where message.id = lost.id returning message.id, message.retained;

-- name: forget_entries
delete from entry where message = any(:ids);

-- name: reclaim
delete from message where id in (
  select id from message where ended < :before order by ended limit :limit
) returning id, queue;

-- name: forget_deliveries
delete from delivery where message = any(:ids);

-- name: deliver
-- Messages are no longer to be sent: those that were until now.
update message set held = 0, ended = case when retained = 0 then :at else ended end where held > 0 and id = any(:ids)
returning id;

-- name: deliveries
select message, at, destination, result from delivery where message = any(:ids);

-- name: requests
select connection, queue, message from arrival where connection = any(:connections);

-- name: replies
select destination, min(message) from delivery
where result = 'replied' and destination = any(:connections) group by destination;

-- name: forget_resets
delete from reset where message = any(:ids);

-- name: finish_message_all
-- Messages get their positions: those that have none.
update message
set position = done.position, processed = done.at, version = done.version, failed = done.failed,
    retained = done.retained, held = done.held, ended = done.ended
from unnest(:messages::bigint[], :positions::bigint[], :ats::bigint[], :versions::bigint[], :faileds::bigint[],
            :retaineds::bigint[], :helds::bigint[], :endeds::bigint[])
  as done (id, position, at, version, failed, retained, held, ended)
where message.id = done.id and message.position is null;

-- name: insert_staged
-- Messages that were put aside come into the log; the ids are those of the first one and all behind it, or 0. They are
-- not joined: nobody has counted what is put aside, and a plan that takes it for little would take quadratic time. So
-- would a cast of all ids for each of them.
with given as materialized (select :ids::bigint[] as ids)
insert into message (id, queue, body, properties, created, origin, cause, rule, rank, priority, due, keys)
select ids[number - :first + 1], queue, body, properties, :created, origin, cause, rule, rank, priority, due, keys
from given, staged
where stage = :stage and number between :first and :last and ids[number - :first + 1] > 0;

-- name: discard
delete from staged where stage = any(:stages);

-- name: discard_old
-- What processes left behind that are gone for sure.
delete from staged where at < now() - interval '1 day';

-- name: insert_member_all
insert into member (slicing, key, position, message)
select * from unnest(:slicings::text[], :keys::text[], :positions::bigint[], :messages::bigint[]);

-- name: insert_reset_all
insert into reset (message, slicing, key)
select * from unnest(:messages::bigint[], :slicings::text[], :keys::text[]) on conflict do nothing;

-- name: insert_entry_all
insert into entry (queue, path, kind, value, position, message)
select * from unnest(:queues::text[], :paths::text[], :kinds::text[], :values::text[], :positions::bigint[],
                     :messages::bigint[])
on conflict do nothing;
