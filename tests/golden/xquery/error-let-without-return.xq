let $x := 1
