<a xmlns="urn:a" xmlns:p="urn:p"><b/><p:c></p:c>text{ 1, 2 }more{}{{ braces }}<d>{ <e>{ "nested" }</e> }</d>&lt;&amp;&#x41; &#65;</a>
