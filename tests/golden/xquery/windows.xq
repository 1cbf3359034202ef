(for tumbling window $w in 1 to 9 start when true() return count($w),
for tumbling window $w as xs:integer* in 1 to 9 start $s at $i previous $p next $n when $s mod 3 = 1 end $e at $j previous $q next $o when $j - $i = 2 return $w,
for tumbling window $w in 1 to 9 start $s when $s = 2 only end $e when $e = 4 return $w,
for sliding window $w in 1 to 9 start at $s when true() only end at $e when $e - $s = 1 return sum($w),
for sliding window $w in 1 to 9 start previous $p when true() end next $n when true() return $w)
