declare context item := <a x="1"><b/><c/></a>;
(child::b, descendant::b, attribute::x, self::a, descendant-or-self::node(), following-sibling::c, following::c,
parent::a, ancestor::a, preceding-sibling::b, preceding::b, ancestor-or-self::a, @x, @*, .., ../a, child :: b, b/parent::*)
