(# p content { 1 }
