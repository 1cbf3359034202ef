declare variable $x := 1
$x
