(: nothing :)
