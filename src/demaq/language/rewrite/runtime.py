"""The names that generated XQuery uses, and the functions behind them.

A rule becomes a function of five arguments. Actions become calls that give back what is to be done, as arrays.
"""

from demaq.xquery import parse
from demaq.xquery.analysis.context import BASE, XS
from demaq.xquery.tree import Declaration

ERR = "http://www.w3.org/2005/xqt-errors"
RUNTIME = "http://demaq.org/runtime"
PREFIX = "demaq"
RESERVED_PREFIXES = frozenset({PREFIX, "qs", "sys", "xs", "fn", "xml", "xmlns"})

IMPLICIT: dict[str, str] = {
    "message": "document-node()",
    "slice": "document-node()*",
    "slicekey": "xs:anyAtomicType?",
    "view": "map(*)",
    "now": "xs:dateTime",
}
"""The arguments of a rule, in their order, with their types: the message that is processed, the members of its
slice, the key of the slice, the view of queues, collections and properties, and the time of processing."""

_TEXT = f"""
declare base-uri "{BASE}";
declare namespace {PREFIX} = "{RUNTIME}";
declare namespace xs = "{XS}";

declare function demaq:enqueue($queue as xs:string, $body as node(), $properties as map(*)) as array(*) {{
  [ "enqueue", $queue, $body, $properties ]
}};
declare function demaq:enqueue-built(
  $queue as xs:string, $body as document-node(), $properties as map(*)
) as array(*) {{
  [ "enqueue", $queue, $body, $properties, true() ]
}};
declare function demaq:reset($slicing as xs:string, $key as xs:anyAtomicType?) as array(*) {{
  [ "reset", $slicing, $key ]
}};
declare function demaq:raise($event as xs:string, $parameters as map(*)) as array(*) {{
  [ "raise", $event, $parameters ]
}};
declare function demaq:queue($view as map(*), $name as xs:string) as document-node()* {{
  $view("queue")($name)
}};
declare function demaq:lookup(
  $view as map(*), $queue as xs:string, $path as xs:string, $key as array(*)?
) as document-node()* {{
  $view("lookup")($queue, $path, $key)
}};
declare function demaq:key($key as function() as item()*) as array(*)? {{
  try {{ array {{ $key() }} }}
  catch demaq:missing {{ fn:error($Q{{{ERR}}}code, $Q{{{ERR}}}description, $Q{{{ERR}}}value) }}
  catch * {{ () }}
}};
declare function demaq:collection($view as map(*), $name as xs:string) as document-node()* {{
  $view("collection")($name)
}};
declare function demaq:property($view as map(*), $name as xs:string) as xs:anyAtomicType? {{
  $view("property")($name)
}};
declare function demaq:property-of($view as map(*), $name as xs:string, $node as node()) as xs:anyAtomicType? {{
  $view("property-of")($name, fn:root($node))
}};
declare function demaq:slicing($view as map(*)) as xs:string {{
  $view("slicing")
}};
declare function demaq:opaque($n as xs:integer) as item()* {{
  if ($n gt 0) then demaq:opaque($n - 1) else ()
}};
declare variable $Q{{http://demaq.org/unknown}}value as item()* := demaq:opaque(1);
()
"""


def runtime_declarations() -> tuple[Declaration, ...]:
    """The functions that generated XQuery calls, as trees."""
    return parse(_TEXT, name="runtime").prolog
