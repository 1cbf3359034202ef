declare namespace n = "urn:n";
declare variable $a as function(*) := count#1; declare variable $b as function(item()*) as xs:integer := count#1; declare variable $c as function() as item()* := true#0;
declare variable $d as map(*) := map {}; declare variable $e as map(xs:string, item()*) := map {}; declare variable $f as array(*) := []; declare variable $g as array(xs:integer+) := [];
declare variable $h as (function(xs:string, xs:string) as xs:string)? := concat#2; declare variable $i as %n:note function(*) := count#1; declare variable $j as map(xs:string, array(map(*)))* := ();
declare variable $k as (function(*))* := ();
1
