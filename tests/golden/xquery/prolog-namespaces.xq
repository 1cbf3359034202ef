declare namespace p = "urn:p";
declare namespace q = "urn:&amp;q";
declare default element namespace "urn:d";
declare default function namespace "http://www.w3.org/2005/xpath-functions";
<a><p:b/></a>/p:b
