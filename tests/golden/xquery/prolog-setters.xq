declare boundary-space preserve;
declare default collation "http://www.w3.org/2005/xpath-functions/collation/codepoint";
declare base-uri "http://base.invalid/";
declare construction strip;
declare ordering unordered;
declare default order empty least;
declare copy-namespaces no-preserve, inherit;
<a> </a>
