(: before :) 1 (: between (: nested :) :) + (: (: :) :) 2 (: after :)
