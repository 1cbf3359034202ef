"""Demaq, and its peers. How many processes a peer has is what was best for it on two cores."""

from bench.peers.peer import Peer

BATCH = 1000

PEERS = (
    Peer(key="demaq-sqlite", name="Demaq, SQLite", module="demaq_node", arguments=("sqlite", "off")),
    Peer(key="demaq-postgres", name="Demaq, PostgreSQL", module="demaq_node", arguments=("postgres", "off")),
    Peer(
        key="demaq-sqlite-spark",
        name="Demaq, SQLite, Spark local[2]",
        module="demaq_node",
        arguments=("sqlite", "local[2]"),
        programs=("java",),
        least=5_000,
    ),
    Peer(
        key="demaq-postgres-spark",
        name="Demaq, PostgreSQL, Spark local[2]",
        module="demaq_node",
        arguments=("postgres", "local[2]"),
        programs=("java",),
        least=5_000,
    ),
    Peer(
        key="procrastinate",
        name="procrastinate, 2 processes",
        module="procrastinate_jobs",
        arguments=(2,),
        delivery="at least once",
        packages=("procrastinate",),
        is_slow=True,
    ),
    Peer(
        key="dbos",
        name="DBOS, 2 processes",
        module="dbos_workflows",
        arguments=(2,),
        delivery="steps at least once",
        packages=("dbos", "psycopg_pool"),
        is_slow=True,
    ),
    Peer(
        key="skip-locked-single",
        name="SKIP LOCKED, one at a time, 8 processes",
        module="skip_locked",
        arguments=(8, 1),
        is_slow=True,
    ),
    Peer(
        key="rabbitmq",
        name="RabbitMQ, pika, 2 processes",
        module="rabbitmq",
        durability="synced before it is confirmed",
        delivery="at least once",
        packages=("pika",),
        programs=("rabbitmq-server",),
    ),
    Peer(
        key="streaming-stages",
        name="Structured Streaming, in stages",
        module="structured_streaming",
        arguments=("stages",),
        durability="files, not synced",
        programs=("java",),
    ),
    Peer(
        key="streaming",
        name="Structured Streaming, in one pass",
        module="structured_streaming",
        arguments=("one_pass",),
        durability="files, not synced",
        programs=("java",),
    ),
    Peer(
        key="skip-locked",
        name=f"SKIP LOCKED, batches of {BATCH:,}, 2 processes",
        module="skip_locked",
        arguments=(2, BATCH),
    ),
    Peer(
        key="sqlite",
        name=f"SQLite by hand, batches of {BATCH:,}",
        module="by_hand_sqlite",
        arguments=(BATCH,),
    ),
    Peer(
        key="memory",
        name="by hand in memory",
        module="by_hand_memory",
        durability="none",
        delivery="lost in a crash",
    ),
)
