-- Queries in the words of SQLite. Lists are JSON.

-- name: waiting_besides
-- The next messages, without those that are being processed already.
select {columns} from message where position is null and due is null
and id not in (select value from json_each(:besides)) order by rank desc, priority desc, id limit :limit;

-- name: waiting_light
-- With the bytes of their bodies.
select {light}, length(cast(body as blob)) from message where position is null and due is null
order by rank desc, priority desc, id limit :limit;

-- name: waiting_light_besides
select {light}, length(cast(body as blob)) from message where position is null and due is null
and id not in (select value from json_each(:besides)) order by rank desc, priority desc, id limit :limit;

-- name: due
select {columns} from message where position is null and due <= :now order by due, id limit :limit;

-- name: members
select m.slicing, m.key, m.position, m.message
from json_each(:slices) s cross join member m
  on m.slicing = json_extract(s.value, '$[0]') and m.key = json_extract(s.value, '$[1]')
order by m.position;

-- name: reset_slices
-- The current lifetime of slices ends; gives those who were in them, once for each.
delete from member
where (slicing, key) in (select json_extract(value, '$[0]'), json_extract(value, '$[1]') from json_each(:slices))
returning message;

-- name: retained
select queue, position, id from message
where retained > 0 and queue in (select value from json_each(:queues)) order by position;

-- name: find
select e.queue, e.path, e.kind, e.value, e.position, e.message
from json_each(:entries) s cross join entry e
  on e.queue = json_extract(s.value, '$[0]') and e.path = json_extract(s.value, '$[1]')
  and e.kind = json_extract(s.value, '$[2]') and e.value = json_extract(s.value, '$[3]')
order by e.position;

-- name: messages
select {columns} from message where id in (select value from json_each(:ids));

-- name: messages_light
select {light} from message where id in (select value from json_each(:ids));

-- name: bodies
select id, body from message where id in (select value from json_each(:ids));

-- name: heads
select id, substr(body, 1, :length) from message where id in (select value from json_each(:ids));

-- name: release
-- Messages lose a slice each time that they are named; gives how many they have left.
update message
set retained = retained - lost.number, ended = case when retained - lost.number + held = 0 then :at else ended end
from (select value as id, count(*) as number from json_each(:ids) group by value) as lost
where message.id = lost.id returning message.id, message.retained;

-- name: forget_entries
delete from entry where message in (select value from json_each(:ids));

-- name: reclaim
delete from message where id in (
  select id from message where ended < :before order by ended limit :limit
) returning id, queue;

-- name: forget_deliveries
delete from delivery where message in (select value from json_each(:ids));

-- name: deliver
-- Messages are no longer to be sent: those that were until now.
update message set held = 0, ended = case when retained = 0 then :at else ended end
where held > 0 and id in (select value from json_each(:ids))
returning id;

-- name: deliveries
select message, at, destination, result from delivery where message in (select value from json_each(:ids));

-- name: requests
select connection, queue, message from arrival where connection in (select value from json_each(:connections));

-- name: replies
select destination, min(message) from delivery
where result = 'replied' and destination in (select value from json_each(:connections)) group by destination;

-- name: forget_resets
delete from reset where message in (select value from json_each(:ids));
