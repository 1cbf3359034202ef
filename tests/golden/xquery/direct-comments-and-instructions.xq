(<!-- a comment -->, <?target?>, <?target data with ?? marks?>, <a><!----><?t d?><![CDATA[ <not> & {markup} ]]><![CDATA[]]> x <!-- - --> </a>)
