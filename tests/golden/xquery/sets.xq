declare context item := <a><b/><c/></a>;
(b | c, b union c, b intersect c, b except c, b | c intersect b, (b | c) intersect b, b union c except b, b | c | b, b intersect c except b, (b union c)/d)
