<a b="{ map { "c" : <d e="{ "}" }">{ "{" }</d> } ! ?c }">{ (function($x) { if ($x) then () else ($x) })("}{") }</a>
