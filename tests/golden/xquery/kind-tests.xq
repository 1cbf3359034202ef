declare context item := <a/>;
(node(), text(), comment(), element(), element(*), element(b), element(b, xs:string), element(*, xs:integer), element(b, xs:string?),
attribute(), attribute(*), attribute(c), attribute(c, xs:string), document-node(), document-node(element(a)), processing-instruction(), processing-instruction(t),
processing-instruction("t"), self::namespace-node(), @node(), @attribute(c), child::element(b))
