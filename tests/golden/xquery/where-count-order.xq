for $x in 1 to 9
where $x mod 2 = 1
where $x > 1 and $x < 8
count $n
order by $x descending, -$x ascending empty greatest, string($x) empty least collation "http://www.w3.org/2005/xpath-functions/collation/codepoint"
count $m
stable order by $n
return ($x, $n, $m)
