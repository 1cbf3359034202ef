declare namespace p = 'urn:p';

(: a comment
   of two lines :)
for $x in 1 to 3
let $y := f($x, )
return <a>
  { $y }
</a>
