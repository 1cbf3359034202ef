declare namespace p = "urn:p";
declare context item := <a/>;
(b, p:b, Q{urn:q}b, Q{}b, *, p:*, *:b, Q{urn:q}*, @b, @p:b, @*:b, @p:*, child::p:*, b.c-d_e, for, if, element)
