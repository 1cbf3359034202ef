declare namespace n = "urn:n";
(function() { 1 }(), function($a) { $a }(1), function($a as xs:integer, $b as item()*) as xs:string? { () }(1, 2), function() {},
%n:note function() { 1 }, %n:note("a", 1, 2.5) %n:other function($x) { $x }, function($f) { function($x) { $f($x) } })
