import schema "urn:s1";
import schema namespace s = "urn:s2" at "s.xsd";
import schema default element namespace "urn:s3" at "a.xsd", "b.xsd";
import module "urn:m1";
import module namespace m = "urn:m2" at "m.xq", "n.xq";
1
