declare variable $x := 1;
