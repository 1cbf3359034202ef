declare namespace p = "urn:p";
declare function local:a() { 1 };
declare function local:b($x, $y as xs:integer, $z as item()*) as xs:string+ { "a" };
declare function p:c() {};
declare %private function p:d($x) { p:d($x) };
declare %p:note(1, "a") %public function p:e() as function(*) { p:d#1 };
declare function local:f() as item()* external;
declare %updating function local:g() { () };
local:a()
