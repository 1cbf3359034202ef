(typeswitch (1) case xs:integer return 1 default return 2, typeswitch (<a/>) case $e as element() return $e case text() | comment() return 1 default $d return $d,
typeswitch ((1, 2)) case $x as xs:integer+ | xs:string* return $x case empty-sequence() return () default return 3, typeswitch (count#1) case function(*) return 1 default return 2)
