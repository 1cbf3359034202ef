xquery version "3.1";
module namespace m = "urn:m";
declare variable $m:x := 1;
declare function m:f() { $m:x };
