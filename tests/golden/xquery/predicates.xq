declare context item := <a><b c="1"/><b/></a>;
(b[1], b[@c], b[@c = 1][last()], b[position() > 1], (1, 2, 3)[. > 1], (b)[1]/@c, b[c][d[e]], (b, b)[2], "x"[. = "x"], b[(1, 2) = 1], //b[last() - 1])
