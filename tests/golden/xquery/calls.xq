declare function local:f($a, $b) { ($a, $b) };
(fn:true(), true(), local:f(1, 2), local:f((1, 2), ()), Q{http://www.w3.org/2005/xpath-functions}count((1, 2)), concat("a", "b", "c"))
