try { 1 }
