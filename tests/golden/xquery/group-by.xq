for $x in 1 to 9
let $m := $x mod 3
group by $m, $k := $x mod 2, $s as xs:string := string($x > 5) collation "http://www.w3.org/2005/xpath-functions/collation/codepoint"
where count($x) > 0
return ($m, $k, $s, count($x))
