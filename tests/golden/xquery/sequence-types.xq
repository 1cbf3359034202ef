declare variable $a as item() := 1; declare variable $b as item()? := (); declare variable $c as item()* := (); declare variable $d as xs:integer+ := 1;
declare variable $e as empty-sequence() := (); declare variable $f as element()? := (); declare variable $g as element(a, xs:string)* := (); declare variable $h as document-node(element(a))? := ();
declare variable $i as (xs:integer) := 1; declare variable $j as node()* := (); declare variable $k as attribute(a)? := (); declare variable $l as text()? := (); declare variable $m as (item())* := ();
1
