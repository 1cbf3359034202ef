let $x := ... return $x
