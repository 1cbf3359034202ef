declare context item := <a/>;
(1 + 2 to 3 * 4, a = b or c = d and e = f, - a/b, -a ! b, a | b intersect c, a instance of item() and b, a + b || c, a || b = c, a, b to c + d, not(a) and b or c, (a, b) = c, a cast as xs:string? = b, a ! b/c, (a ! b)/c, a => count(), (a + b) => count(), a[b] + .?d, -(a => count()))
