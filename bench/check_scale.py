"""How the time of `demaq check` grows with the size of an application.

    .venv/bin/python bench/check_scale.py [--lines 5000] [--repeat 3]

Generates applications of growing size, checks each, and prints the time, the processor's time per line, and its ratio
to that of the smallest: 1.0 everywhere is linear growth. Two shapes: many departments side by side, out of the
constructs of the procurement example, and one busy queue that all rules are for and put their messages into.
"""

import argparse
import tempfile
import time
from pathlib import Path

from demaq.language import check

DEPARTMENT = """
(: ---- Department {n} ---- :)
create queue inbox{n} kind incomingGateway mode persistent
create queue work{n} kind basic mode persistent priority {p}
create queue ledger{n} kind basic mode persistent
create queue answers{n} kind outgoingGateway mode persistent
create queue timers{n} kind echo mode persistent

create property case{n} as xs:string fixed
  queue work{n} value (/request | /checked | /approved)/caseID
  queue answers{n} value (/answer | /refusal)/caseID

create slicing cases{n} on case{n}

create property entry{n} as xs:string fixed
  queue ledger{n} value /entry/caseID

create slicing entries{n} on entry{n}

create rule admit{n} for inbox{n}
if (/request) then
  do enqueue . into work{n}

create rule start{n} for work{n}
if (/request) then
  let $id := /request/caseID
  let $items :=
    for $item at $place in /request/items/item
    let $price := xs:decimal($item/price) * xs:integer($item/quantity)
    where $price > 0
    order by $price descending
    return <line no="{{$place}}" total="{{$price}}">{{$item/sku}}</line>
  return (
    do enqueue <checked>{{$id}}<sum>{{sum($items/@total)}}</sum></checked> into work{n},
    do enqueue <entry>{{$id}}{{$items}}</entry> into ledger{n},
    do enqueue <late>{{$id}}</late> into timers{n}
      with timeout value xs:dayTimeDuration("PT1H")
      with target value "work{n}"
  )

create rule approve{n} for work{n}
if (/checked and not(qs:queue("ledger{n}")[/entry/caseID = qs:message()/checked/caseID]/entry/line[@total > 1000])) then
  do enqueue <approved>{{/checked/caseID}}</approved> into work{n}

create rule answer{n} for cases{n}
if (qs:slice()[/checked] and
    qs:slice()[/approved] and
    not(qs:slice()[/answer or /refusal])) then
  if (some $sum in qs:slice()/checked/sum satisfies xs:decimal($sum) lt 10000) then
    do enqueue
      <answer>
        <caseID>{{qs:slicekey()}}</caseID>
        {{for $entry in qs:queue("ledger{n}")[/entry/caseID = qs:slicekey()]
         return <bill lines="{{count($entry//line)}}">{{string-join($entry//sku, ", ")}}</bill>}}
      </answer>
    into answers{n}
  else
    do enqueue <refusal><caseID>{{qs:slicekey()}}</caseID></refusal> into answers{n}

create rule close{n} for cases{n}
if (qs:slice()[/answer or /refusal]) then (
  do reset,
  do reset entries{n} key qs:slicekey()
)
"""


BUSY_QUEUES = """
create queue events kind basic mode persistent
create queue reports kind outgoingGateway mode persistent
"""

BUSY_RULE = """
create rule step{n} for events
if (/event{n}[amount > 10]) then (
  do enqueue <first{n}>{{/event{n}/amount}}</first{n}> into events,
  do enqueue <second{n}>{{/event{n}/name}}</second{n}> into events,
  do enqueue <report{n}>{{count(/event{n}/*)}}</report{n}> into reports
)
"""


def departments(lines: int) -> str:
    """Departments side by side, each with its queues and rules."""
    return "".join(DEPARTMENT.format(n=n, p=n % 10) for n in range(max(1, lines // DEPARTMENT.count("\n"))))


def busy_queue(lines: int) -> str:
    """Many rules on one queue."""
    rules = max(1, lines // BUSY_RULE.count("\n"))
    return BUSY_QUEUES + "".join(BUSY_RULE.format(n=n) for n in range(rules))


SHAPES = {"departments": departments, "busy queue": busy_queue}


def seconds(folder: Path, repeat: int) -> tuple[float, float]:
    """The least time on the wall and of the processor in several runs: the work, without the machine's noise."""
    wall, processor = [], []
    for _ in range(repeat):
        wall_start, processor_start = time.perf_counter(), time.process_time()
        result = check(folder)
        wall.append(time.perf_counter() - wall_start)
        processor.append(time.process_time() - processor_start)
        assert not len(result.report), [diagnostic.message for diagnostic in result.report]
    return min(wall), min(processor)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=5000, help="the size that is to take under 5 s")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    for name, application in SHAPES.items():
        print(f"{name}\n{'lines':>8} {'rules':>7} {'seconds':>9} {'CPU µs/line':>12} {'ratio':>7}")
        base = None
        for factor in (0.125, 0.25, 0.5, 1, 2, 4):
            text = application(int(options.lines * factor))
            wall, processor = measured(text, options.repeat)
            lines = text.count("\n")
            per_line = processor / lines * 1e6
            base = base or per_line
            rules = text.count("create rule")
            print(f"{lines:>8} {rules:>7} {wall:>9.2f} {per_line:>12.0f} {per_line / base:>7.2f}", flush=True)


def measured(text: str, repeat: int) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "main.demaq").write_text(text, encoding="utf-8")
        return seconds(folder, repeat)


if __name__ == "__main__":
    main()
