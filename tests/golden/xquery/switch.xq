(switch (1) case 1 return "a" default return "b", switch ("x") case "a" case "b" return 1 case "c" return 2 default return 3, switch (()) case () return 1 default return 2,
switch (1) case 1 + 0 return switch (2) case 2 return 3 default return 4 default return 5)
