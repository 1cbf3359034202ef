(validate { <a/> }, validate lax { <a/> }, validate strict { <a/> }, validate type xs:string { <a/> })
