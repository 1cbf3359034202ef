<a b="1" c='2' d="a ""quoted"" one" e='it''s' f="{ 1 }" g="a{ 1 }b{ 2, 3 }c" h="" i="{{ }}" j="&lt;&amp;&quot;&#xA;" k='"' l="it's" xml:lang="en" m = "spaces"  n="{}"/>
