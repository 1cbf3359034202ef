map { "a" = 1 }
