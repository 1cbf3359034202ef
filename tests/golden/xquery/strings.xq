("a ""quoted"" word", 'it''s', "it's", '"', "&lt;&gt;&amp;&quot;&apos;", "&#65;&#x42;&#x1F680;", "two
lines", "tab	and é 日本語", "{ not } [ special ] (: here :)")
