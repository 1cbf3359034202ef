(for $x in 1 to 2 return $x, for $x in 1, $y in 2 return ($x, $y), for $x at $i in ("a", "b") return $i, for $x as xs:integer in 1 return $x, for $x allowing empty in () return 1,
for $x as xs:integer? allowing empty at $i in () return $i, let $a := 1 return $a, let $a := 1, $b as xs:integer := 2 return $a + $b, let $a := 1 for $b in $a let $c := $b return $c,
(for $x in 1 return $x, 2), for $x in (for $y in 1 return $y) return let $z := $x return $z)
