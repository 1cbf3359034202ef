xquery version "3.1";
(: Runs the rules of one message, and gives back what they do as one string: a row of fields, each with its length
   before it. See driver.py, which reads it.

   Fields of the result, by their first:
     R number                              what follows comes from this rule
     Q queue body n (name type text)*      a message for a queue, with n properties
     X slicing type key                    a reset
     E code description line column        the rule failed
     N needed                              the rule needs something that is not loaded: again fields, M n what*
     I number value                        a value of an indexed path :)

declare namespace demaq = "http://demaq.org/runtime";
declare namespace map = "http://www.w3.org/2005/xpath-functions/map";
declare namespace err = "http://www.w3.org/2005/xqt-errors";

declare variable $demaq:options := map { "method" : "xml", "omit-xml-declaration" : true(), "indent" : false() };

declare function demaq:fields($texts as xs:string*) as xs:string {
  string-join($texts ! (string-length(.) || ":" || .))
};

declare function demaq:missing($what as xs:string+) as item()* {
  error(xs:QName("demaq:missing"), demaq:fields(("M", string(count($what)), $what)))
};

declare function demaq:cast($type as xs:string, $text as xs:string) as xs:anyAtomicType {
  switch ($type)
  case "xs:string" return $text
  case "xs:integer" return xs:integer($text)
  case "xs:decimal" return xs:decimal($text)
  case "xs:double" return xs:double($text)
  case "xs:float" return xs:float($text)
  case "xs:boolean" return xs:boolean($text)
  case "xs:dateTime" return xs:dateTime($text)
  case "xs:date" return xs:date($text)
  case "xs:time" return xs:time($text)
  case "xs:dayTimeDuration" return xs:dayTimeDuration($text)
  case "xs:yearMonthDuration" return xs:yearMonthDuration($text)
  case "xs:duration" return xs:duration($text)
  case "xs:anyURI" return xs:anyURI($text)
  case "xs:hexBinary" return xs:hexBinary($text)
  case "xs:base64Binary" return xs:base64Binary($text)
  case "xs:gYear" return xs:gYear($text)
  case "xs:gYearMonth" return xs:gYearMonth($text)
  case "xs:gMonth" return xs:gMonth($text)
  case "xs:gMonthDay" return xs:gMonthDay($text)
  case "xs:gDay" return xs:gDay($text)
  case "xs:normalizedString" return xs:normalizedString($text)
  case "xs:token" return xs:token($text)
  case "xs:language" return xs:language($text)
  case "xs:NMTOKEN" return xs:NMTOKEN($text)
  case "xs:Name" return xs:Name($text)
  case "xs:NCName" return xs:NCName($text)
  case "xs:ID" return xs:ID($text)
  case "xs:IDREF" return xs:IDREF($text)
  case "xs:ENTITY" return xs:ENTITY($text)
  case "xs:nonPositiveInteger" return xs:nonPositiveInteger($text)
  case "xs:negativeInteger" return xs:negativeInteger($text)
  case "xs:long" return xs:long($text)
  case "xs:int" return xs:int($text)
  case "xs:short" return xs:short($text)
  case "xs:byte" return xs:byte($text)
  case "xs:nonNegativeInteger" return xs:nonNegativeInteger($text)
  case "xs:unsignedLong" return xs:unsignedLong($text)
  case "xs:unsignedInt" return xs:unsignedInt($text)
  case "xs:unsignedShort" return xs:unsignedShort($text)
  case "xs:unsignedByte" return xs:unsignedByte($text)
  case "xs:positiveInteger" return xs:positiveInteger($text)
  case "xs:dateTimeStamp" return xs:dateTimeStamp($text)
  default return xs:untypedAtomic($text)
};

(: The type of a value whose property may have any. :)
declare function demaq:type($value as xs:anyAtomicType) as xs:string {
  typeswitch ($value)
  case xs:dayTimeDuration return "xs:dayTimeDuration"
  case xs:yearMonthDuration return "xs:yearMonthDuration"
  case xs:duration return "xs:duration"
  case xs:dateTime return "xs:dateTime"
  case xs:date return "xs:date"
  case xs:time return "xs:time"
  case xs:boolean return "xs:boolean"
  case xs:integer return "xs:integer"
  case xs:decimal return "xs:decimal"
  case xs:double return "xs:double"
  case xs:float return "xs:float"
  case xs:anyURI return "xs:anyURI"
  case xs:hexBinary return "xs:hexBinary"
  case xs:base64Binary return "xs:base64Binary"
  default return "xs:string"
};

declare function demaq:typed($values as map(*), $name as xs:string) as xs:anyAtomicType? {
  $values($name) ! demaq:cast(.(1), .(2))
};

declare function demaq:whole($loaded as map(*), $name as xs:string) as document-node()* {
  if (map:contains($loaded("queues"), $name)) then $loaded("queues")($name)?*
  else demaq:missing(("queue", $name))
};

(: The messages in which a path has one of the keys: found by an index if there is one for the kind of the keys. :)
declare function demaq:found(
  $loaded as map(*), $queue as xs:string, $path as xs:string, $key as array(*)?
) as document-node()* {
  let $keys := data($key?*)
  let $kind :=
    if (empty($key)) then ()
    else if (every $k in $keys satisfies $k instance of xs:string or $k instance of xs:untypedAtomic
                                         or $k instance of xs:anyURI) then "t"
    else if (every $k in $keys satisfies $k instance of xs:numeric) then "n"
    else ()
  return
    if (empty($key) or empty($kind) or not(map:contains($loaded("indexes"), demaq:fields(($queue, $path, $kind)))))
    then demaq:whole($loaded, $queue)
    else
      let $values := distinct-values(if ($kind = "t") then $keys ! string() else $keys ! string(xs:double(.)))
      let $names := $values ! demaq:fields(($queue, $path, $kind, .))
      let $absent := $values[not(map:contains($loaded("lookups"), demaq:fields(($queue, $path, $kind, .))))]
      return
        if (exists($absent)) then demaq:missing(("lookup", $queue, $path, $kind, $absent))
        else if (count($names) = 1) then $loaded("lookups")($names)?*
        else (for $name in $names return $loaded("lookups")($name)?*) | ()
};

declare function demaq:view($loaded as map(*), $slicing as xs:string) as map(*) {
  map {
    "queue" : function($name) { demaq:whole($loaded, $name) },
    "lookup" : function($queue, $path, $key) { demaq:found($loaded, $queue, $path, $key) },
    "collection" : function($name) { $loaded("collections")($name)?* },
    "property" : function($name) { demaq:typed($loaded("properties"), $name) },
    "property-of" : function($name, $root) {
      let $known := $loaded("of")(generate-id($root))
      return
        if (exists($known)) then demaq:typed($known, $name)
        else if (map:contains($loaded("of"), "*")) then () (: the node belongs to no message :)
        else demaq:missing(("of", generate-id($root)))
    },
    "slicing" : $slicing
  }
};

(: A message that a rule makes, or that comes from outside: its text, and its properties.
   `definitions` are those of its queue: name, type, mode, and the function that computes the value, or an array. :)
declare function demaq:message(
  $queue as xs:string, $body as node(), $explicit as map(*), $inherited as map(*), $definitions as array(*),
  $system as map(*), $now as xs:dateTime
) as xs:string* {
  let $document := if ($body instance of document-node()) then $body else document { $body }
  let $sound :=
    if (count($document/*) = 1 and empty($document/text()[normalize-space()])) then ()
    else error(xs:QName("demaq:message"), "what is enqueued is no message: a message is one element")
  let $given := map:merge((
    for $name in map:keys($explicit) let $value := $explicit($name)
    return
      if (count($value) > 1) then error(xs:QName("demaq:property"), "the property `" || $name || "` has several values")
      else $value ! map { $name : [ demaq:type(.), string(.) ] }, $system))
  let $view := map { "property" : function($name) { demaq:typed($given, $name) } }
  let $own := map:merge((
    for $definition in $definitions?*
    let $name := $definition(1), $type := $definition(2), $mode := $definition(3), $compute := $definition(4)
    let $set :=
      if ($mode != "fixed" and map:contains($explicit, $name)) then $explicit($name) ! string(.)
      else if ($mode = "inherited" and map:contains($inherited, $name)) then $inherited($name)(2)
      else if (not($compute instance of array(*))) then demaq:computed($name, $compute, $document, $view, $now)
      else ()
    return $set ! map { $name : [ $type, . ] }))
  let $others :=
    for $name in map:keys($given)
    where not($definitions?* ! .(1) = $name) and not(starts-with($name, "sys:") and $name != "sys:connection")
    return map { $name : $given($name) }
  let $all := map:merge(($own, $others, $inherited("sys:connection") ! map { "sys:connection" : . }))
  return (
    $sound, "Q", $queue, serialize($document, $demaq:options), string(map:size($all)),
    for $name in sort(map:keys($all)) return ($name, $all($name)?*)
  )
};

declare function demaq:computed(
  $name as xs:string, $compute as function(*), $document as document-node(), $view as map(*), $now as xs:dateTime
) as xs:string? {
  try { array { $compute($document, $view, $now) }?* ! string(.) }
  catch * {
    error(xs:QName("demaq:property"), "the property `" || $name || "` cannot be computed: " || $err:description)
  }
};

declare function demaq:action(
  $action as map(*), $loaded as map(*), $definitions as map(*), $system as map(*), $now as xs:dateTime
) as xs:string* {
  switch ($action("do"))
  case "enqueue" return
    demaq:message($action("queue"), $action("body"), $action("properties"), $loaded("properties"),
                  $definitions($action("queue")), $system, $now)
  case "reset" return
    if (empty($action("key"))) then ()
    else ("X", $action("slicing"), demaq:type($action("key")), string($action("key")))
  default return error(xs:QName("demaq:action"), "there is no action `" || $action("do") || "`")
};

(: Everything that the rules of a message do. Each task is the number of a rule, its function, its slicing, the members
   of the slice, the type of the key, and the key. :)
declare function demaq:run(
  $message as document-node(), $now as xs:string, $tasks as array(*), $loaded as map(*), $definitions as map(*),
  $system as map(*), $paths as array(*)
) as xs:string {
  let $time := xs:dateTime($now)
  return demaq:fields((
    for $task in $tasks?*
    return (
      "R", string($task(1)),
      try {
        array {
          let $slicing := $task(3)
          let $key := if ($slicing = "") then () else demaq:cast($task(5), $task(6))
          for $action in array { $task(2)($message, $task(4)?*, $key, demaq:view($loaded, $slicing), $time) }?*
          return
            if ($action instance of map(*)) then demaq:action($action, $loaded, $definitions, $system, $time) else ()
        }?*
      }
      catch demaq:missing { "N", $err:description }
      catch * {
        "E", string($err:code), string($err:description), string(($err:line-number, 0)[1]),
        string(($err:column-number, 0)[1])
      }
    ),
    for $path at $number in $paths?*
    for $value in distinct-values($path($message))
    return ("I", string($number), $value)
  ))
};

(: A message from outside, or one that the system makes. :)
declare function demaq:admit(
  $queue as xs:string, $message as document-node(), $given as map(*), $inherited as map(*), $definitions as array(*),
  $system as map(*), $now as xs:string
) as xs:string {
  demaq:fields(
    try {
      array {
        let $explicit := map:merge(for $name in map:keys($given) return map { $name : demaq:typed($given, $name) })
        return demaq:message($queue, $message, $explicit, $inherited, $definitions, $system, xs:dateTime($now))
      }?*
    }
    catch * { "E", string($err:code), string($err:description), "0", "0" }
  )
};

(: The root element and the names of all elements. :)
declare function demaq:names($message as document-node()) as xs:string {
  demaq:fields(($message/* ! demaq:name(.), distinct-values($message//* ! demaq:name(.))))
};

declare function demaq:name($element as element()) as xs:string {
  let $uri := namespace-uri($element)
  return if ($uri = "") then local-name($element) else "Q{" || $uri || "}" || local-name($element)
};

declare function demaq:identity($message as document-node()) as xs:string {
  generate-id($message)
};

demaq:run#7, demaq:admit#7, demaq:names#1, demaq:identity#1
