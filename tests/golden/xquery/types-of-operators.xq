(1 instance of xs:integer, (1, 2) instance of xs:integer+, () instance of empty-sequence(), 1 treat as item(), "1" cast as xs:integer, "" castable as xs:integer?, "1" cast as xs:integer?,
1 cast as xs:string instance of xs:string, -1 cast as xs:string, (1 + 1) instance of xs:integer, ("1" cast as xs:integer) + 1, 1 castable as xs:string treat as xs:boolean)
