declare context item := <r><a-b/><a>3</a><b>1</b></r>;
(a-b, a -b, a - b, a-b - a, a*b, a * b, *, * * *, a/b*2, a div b)
