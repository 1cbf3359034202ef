(if (1) then 2 else 3, if (1) then if (2) then 3 else 4 else 5, if (1) then (2, 3) else (), (if (1) then 2 else 3) + 4, 1 + (if (2) then 3 else 4), if ((1, 2) = 2) then 1 else if (2) then 3 else 4)
