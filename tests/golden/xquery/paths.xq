declare context item := document { <a><b><c/></b></a> };
(/, /a, //c, /a/b, /a//c, a, a/b, a//c, ., ./a, .//c, /a/(b, c), /a/b/string(), (/)/a, /a/., (//c)[1], //c[1], / | /a, /a/b/../b)
