xquery version "3.1";
(: Runs the rules of one message, and gives back what they do as one string: fields with a separator between them that no
   text of XQuery can contain; the first says how many there are. See driver.py, which reads it.

   Fields of the result, by their first:
     R number                       what follows comes from this rule
     Q queue body                   a message for a queue
     D queue body                   the same, and its document is among those that come after the string
     P name type text               a property that it is given
     O name                         a property that it is given, but without a value
     V name text                    a property that is computed for it
     K number value                 a value of an indexed path in it
     X slicing type key             a reset
     E code description line column a rule failed: nothing else is said
     N n what*                      a rule needs something that is not loaded: nothing else is said
     I number value                 a value of an indexed path in the message that is processed

   What rules are expected to need is a list of N fields. :)

declare namespace demaq = "http://demaq.org/runtime";
declare namespace array = "http://www.w3.org/2005/xpath-functions/array";
declare namespace map = "http://www.w3.org/2005/xpath-functions/map";
declare namespace err = "http://www.w3.org/2005/xqt-errors";

declare function demaq:fields($texts as xs:string*, $separator as xs:string) as xs:string {
  string-join((string(count($texts)), $texts), $separator)
};

(: Fields as one string, and the documents among them: in the order in which they were made, each only once, after the
   message; or none of them. :)
declare function demaq:result($fields as item()*, $message as document-node(), $separator as xs:string) as item()+ {
  let $built := $fields[. instance of document-node()]
  return
    if (empty($built)) then demaq:fields($fields, $separator)
    else (
      demaq:fields($fields[. instance of xs:string], $separator),
      if (every $n in 1 to count($built) satisfies ($message, $built)[$n] << $built[$n]) then $built else ()
    )
};

declare function demaq:missing($what as xs:string+) as item()* {
  error(xs:QName("demaq:missing"), "something is not loaded", $what)
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

(: How a lookup, without its value, is called. :)
declare function demaq:index($queue as xs:string, $path as xs:string, $kind as xs:string) as xs:string {
  $queue || " " || $kind || string-length($path) || " " || $path || " "
};

declare function demaq:whole($queues as map(*), $name as xs:string) as document-node()* {
  if (map:contains($queues, $name)) then $queues($name)?* else demaq:missing(("queue", $name))
};

(: How keys are looked up: of which kind they are, and their texts. Nothing if there is no index for them. :)
declare function demaq:wanted(
  $indexes as map(*), $queue as xs:string, $path as xs:string, $key as array(*)?
) as xs:string* {
  let $keys := data($key?*)
  let $kind :=
    if (empty($key)) then ()
    else if (every $k in $keys satisfies $k instance of xs:string or $k instance of xs:untypedAtomic
                                         or $k instance of xs:anyURI) then "t"
    else if (every $k in $keys satisfies $k instance of xs:numeric) then "n"
    else ()
  return
    if (empty($kind) or not(map:contains($indexes, demaq:index($queue, $path, $kind)))) then ()
    else ($kind, distinct-values(if ($kind = "t") then $keys ! string() else $keys ! string(xs:double(.))))
};

(: The messages in which a path has one of the keys: found by an index if there is one for the kind of the keys. :)
declare function demaq:found(
  $indexes as map(*), $queues as map(*), $lookups as map(*), $queue as xs:string, $path as xs:string, $key as array(*)?
) as document-node()* {
  let $wanted := demaq:wanted($indexes, $queue, $path, $key)
  return
    if (empty($wanted)) then demaq:whole($queues, $queue)
    else
      let $index := demaq:index($queue, $path, head($wanted)), $values := tail($wanted)
      let $absent := $values[not(map:contains($lookups, $index || .))]
      return
        if (exists($absent)) then demaq:missing(("lookup", $queue, $path, head($wanted), $absent))
        else if (count($values) = 1) then $lookups($index || $values)?*
        else (for $value in $values return $lookups($index || $value)?*) | ()
};

(: What a rule can ask for. :)
declare function demaq:view(
  $collections as map(*), $indexes as map(*), $queues as map(*), $lookups as map(*), $properties as map(*),
  $of as map(*), $slicing as xs:string
) as map(*) {
  map {
    "queue" : function($name) { demaq:whole($queues, $name) },
    "lookup" : function($queue, $path, $key) { demaq:found($indexes, $queues, $lookups, $queue, $path, $key) },
    "collection" : function($name) { $collections($name)?* },
    "property" : function($name) { demaq:typed($properties, $name) },
    "property-of" : function($name, $root) {
      let $known := $of(generate-id($root))
      return
        if (exists($known)) then demaq:typed($known, $name)
        else if (map:contains($of, "*")) then () (: the node belongs to no message :)
        else demaq:missing(("of", generate-id($root)))
    },
    "slicing" : $slicing
  }
};

(: A message that a rule makes: its text, what it is given, and what its queue adds. Its document is given, too, unless
   its text would not be read as the same. It must be nobody else's: if it was not built for this, it is copied. :)
declare function demaq:made(
  $queue as xs:string, $body as node(), $is-built as xs:boolean, $given as map(*), $inherited as map(*),
  $added as function(*)?, $system as map(*), $rule as xs:string, $now as xs:dateTime
) as item()* {
  let $document :=
    if ($is-built) then $body
    else if ($body instance of document-node()) then document { $body/node() }
    else $body[self::*] ! document { . }
  return (
    if (count($document/node()) eq 1 and exists($document/*)) then ("D", $queue, serialize($document), $document)
    else if (count($document/*) eq 1 and empty($document/text()[normalize-space()]))
    then ("Q", $queue, serialize($document))
    else error(xs:QName("demaq:message"), "what is enqueued is no message: a message is one element"),
    demaq:added($queue, $document, $given, $inherited, $added, $system, $rule, $now)
  )
};

(: What a message is given, and what its queue adds, of which `added` knows (see compiled.py): the properties that are
   computed, and the values of indexed paths. :)
declare function demaq:added(
  $queue as xs:string, $document as document-node(), $given as map(*), $inherited as map(*), $added as function(*)?,
  $system as map(*), $rule as xs:string, $now as xs:dateTime
) as xs:string* {
  if (map:size($given) eq 0) then () else map:for-each($given, demaq:given#2),
  if (empty($added)) then ()
  else
    $added($document, $given, $inherited, function() { demaq:own($queue, $document, $given, $system, $rule) }, $now)
};

declare function demaq:given($name as xs:string, $value as xs:anyAtomicType*) as xs:string+ {
  if (empty($value)) then ("O", $name)
  else if (count($value) > 1)
  then error(xs:QName("demaq:property"), "the property `" || $name || "` has several values")
  else ("P", $name, demaq:type($value), string($value))
};

(: What a property that is computed can ask for: what the message was given, and what the system knows of it. :)
declare function demaq:own(
  $queue as xs:string, $document as document-node(), $given as map(*), $system as map(*), $rule as xs:string
) as map(*) {
  map {
    "property" : function($name) {
      switch ($name)
      case "sys:queue" return $queue
      case "sys:rule" return $rule[. ne ""]
      case "sys:size" return string-length(serialize($document))
      default return
        let $value := $given(if ($name eq "sys:sender") then "Sender" else $name)
        return if (exists($value)) then demaq:cast(demaq:type($value), string($value)) else demaq:typed($system, $name)
    }
  }
};

(: A value that came from outside. :)
declare function demaq:read($given as map(*), $name as xs:string) as xs:anyAtomicType? {
  try { array { demaq:typed($given, $name) }?* }
  catch * {
    error(xs:QName("demaq:property"), "this is no value of the property `" || $name || "`: " || $err:description)
  }
};

(: Functions that run the rules of a message, and that admit a message from outside, or one that the system makes.

   Everything that a rule needs beside the message comes as an argument: `parts` are arrays of a function, the slicing
   of its rules, the type of the slicing's key, whether it reads its view, and the rules, each with its number and name.
   The function of one rule gives actions, that of several an array of them for each rule. `slices` has for each slicing
   the key and the members; `added` and `paths` have functions for queues.

   Rules fail seldom. All are tried together; when one fails, that is all that is known of any of them. :)
declare function demaq:functions(
  $added as map(*), $paths as map(*), $indexes as map(*), $collections as map(*), $separator as xs:string
) as function(*)+ {
  function(
    $message as document-node(), $now as xs:dateTime, $parts as array(*), $slices as map(*), $queues as map(*),
    $lookups as map(*), $properties as map(*), $of as map(*), $system as map(*), $indexed as xs:string
  ) as item()+ {
    demaq:result(
      try {
        array {
          for $part in $parts?*
          let $slicing := $part(2), $rules := $part(5)
          let $view :=
            if ($part(4) eq "") then map { }
            else demaq:view($collections, $indexes, $queues, $lookups, $properties, $of, $slicing)
          let $results :=
            if ($slicing eq "") then $part(1)($message, (), (), $view, $now)
            else
              let $slice := $slices($slicing)
              return $part(1)($message, $slice(2)?*, demaq:cast($part(3), $slice(1)), $view, $now)
          for $rule at $number in $rules?*
          return (
            "R", $rule(1),
            for $action in if (array:size($rules) eq 1) then $results else $results[$number]?*
            return demaq:action($action, $properties, $added, $system, $rule(2), $now)
          ),
          $paths($indexed) ! .($message)
        }?*
      }
      catch demaq:missing { "N", string(count($err:value)), $err:value ! string(.) }
      catch demaq:action | demaq:message | demaq:property { "E", string($err:code), string($err:description), "0", "0" }
      catch * {
        "E", string($err:code), string($err:description), string(($err:line-number, 0)[1]),
        string(($err:column-number, 0)[1])
      },
      $message, $separator)
  },
  function(
    $queue as xs:string, $message as document-node(), $given as map(*), $inherited as map(*), $system as map(*),
    $rule as xs:string, $now as xs:dateTime
  ) as xs:string {
    demaq:fields(
      try {
        array {
          let $typed := map:merge(for $name in map:keys($given) return map { $name : demaq:read($given, $name) })
          return demaq:added($queue, $message, $typed, $inherited, $added($queue), $system, $rule, $now)
        }?*
      }
      catch * { "E", string($err:code), string($err:description), "0", "0" },
      $separator)
  },
  function($message as document-node()) as xs:string {
    demaq:fields(($message/* ! demaq:name(.), distinct-values($message//* ! demaq:name(.))), $separator)
  },
  function(
    $message as document-node(), $now as xs:dateTime, $foreseen as array(*), $slices as map(*), $properties as map(*)
  ) as xs:string {
    demaq:fields(
      for $part in $foreseen?*
      let $slicing := $part(2), $queue := $part(5), $path := $part(6)
      return
        try {
          array {
            let $view :=
              if ($part(4) eq "") then map { }
              else demaq:view($collections, $indexes, map { }, map { }, $properties, map { }, $slicing)
            let $key := if ($slicing eq "") then () else demaq:cast($part(3), $slices($slicing)(1))
            let $wanted :=
              demaq:wanted($indexes, $queue, $path, array { $part(1)($message, (), $key, $view, $now) })
            return if (empty($wanted)) then () else ("N", string(count($wanted) + 3), "lookup", $queue, $path, $wanted)
          }?*
        }
        catch * { () },
      $separator)
  }
};

(: What an action does. Those of programs that were compiled by an earlier version are maps. :)
declare function demaq:action(
  $action as item(), $properties as map(*), $added as map(*), $system as map(*), $rule as xs:string, $now as xs:dateTime
) as item()* {
  if ($action instance of array(*)) then
    switch ($action(1))
    case "enqueue" return
      demaq:made(
        $action(2), $action(3), array:size($action) eq 5, $action(4), $properties, $added($action(2)), $system, $rule,
        $now)
    case "reset" return $action(3) ! ("X", $action(2), demaq:type(.), string(.))
    default return error(xs:QName("demaq:action"), "there is no action `" || $action(1) || "`")
  else if ($action instance of map(*)) then
    demaq:action(
      if ($action("do") eq "enqueue") then ["enqueue", $action("queue"), $action("body"), $action("properties")]
      else if ($action("do") eq "reset") then ["reset", $action("slicing"), $action("key")]
      else [$action("do")],
      $properties, $added, $system, $rule, $now)
  else ()
};

(: The name of an element, as conditions of rules have it. :)
declare function demaq:name($element as element()) as xs:string {
  let $uri := namespace-uri($element)
  return if ($uri = "") then local-name($element) else "Q{" || $uri || "}" || local-name($element)
};

demaq:functions#5, function($message as document-node()) { generate-id($message) }, xs:dateTime#1,
function($message as document-node()) { document { $message/node() } }
