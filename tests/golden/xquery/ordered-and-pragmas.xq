declare namespace p = "urn:p";
(ordered { 1 }, unordered { (1, 2) }, unordered { for $x in 1 return $x }, (# p:a #) { 1 }, (# p:a content #) (# p:b more content #) { 2 }, (# Q{urn:q}c #) { ordered { 3 } })
