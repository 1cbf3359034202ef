1 instance of function(xs:string)
