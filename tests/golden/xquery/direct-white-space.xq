(<a>
  <b/>
  { 1 }
  text  with   spaces
  { "x" } { "y" }
</a>, <a> </a>, <a>&#x20;</a>, <a> { 1 } </a>, <a	b="1
2"
>	</a>)
