for sliding window $w in 1 start when true() return $w
