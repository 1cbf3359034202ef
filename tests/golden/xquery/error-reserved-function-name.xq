declare function if($x) { $x }; 1
