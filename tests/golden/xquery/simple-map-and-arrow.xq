((1, 2) ! (. + 1), (1, 2) ! string() ! concat(., "!"), 1 => string(), (1, 2) => sum() => string(), "a" => concat("b", "c"),
1 => (function($x) { $x })(), let $f := abs#1 return -1 => $f(), -1 => abs(), (1 => string()) ! 1, 1 ! . => string())
