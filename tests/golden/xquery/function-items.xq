declare function local:f($a, $b) { ($a, $b) };
let $f := local:f#2, $g := local:f(1, ?), $h := local:f(?, ?)
return (count#1, fn:concat#3, Q{http://www.w3.org/2005/xpath-functions}count#1, $f(1, 2), $g(2), $h(1, 2), (count#1)((1, 2)), $f(1, ?)(2), [count#1](1)((1, 2)))
