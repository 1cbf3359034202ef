(true() and false(), true() or false() and true(), (true() or false()) and true(), true() and true() and true(), true() or true() or true(), true() and (true() and true()), not(true() or false()))
