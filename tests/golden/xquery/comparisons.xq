declare context item := <a><b/></a>;
(1 = 1, 1 != 2, 1 < 2, 1 <= 2, 1 > 2, 1 >= 2, 1 eq 1, 1 ne 2, 1 lt 2, 1 le 2, 1 gt 2, 1 ge 2, . is ., b << b, b >> b, (1 = 1) = true(), true() = (1 = 1), 1 + 1 = 2, 1 < 2 and 2 < 3)
