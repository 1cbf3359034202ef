declare namespace p = "urn:p";
(element a {}, element a { 1 }, element p:a { attribute b { 1 }, attribute { "c" } { 2 }, attribute p:d {} }, element { "a" || "b" } { "x" }, element Q{urn:q}a { },
document { <a/> }, text { "a" }, text { }, comment { "b" }, processing-instruction t { "c" }, processing-instruction { "t" } { }, namespace n { "urn:n" }, namespace { "" } { "urn:n" }, element element { element { "x" } {} })
