declare namespace p = "urn:p";
declare variable $a := 1;
declare variable $b as xs:integer := $a + 1;
declare variable $c external;
declare variable $d as xs:string external := "x";
declare %private variable $p:e := (1, 2);
declare %p:note("x") %public variable $f := 1;
($a, $b, $d, $p:e, $f)
