declare namespace p = "urn:p";
declare variable $a := 1; declare variable $p:b := 2; declare variable $Q{urn:q}c := 3;
declare variable $if := 4; declare variable $a-b.c_d := 5;
($a, $p:b, $Q{urn:p}b, $Q{urn:q}c, $if, $a-b.c_d, $ a)
