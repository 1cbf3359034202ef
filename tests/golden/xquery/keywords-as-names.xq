declare context item := <a/>;
(/for/let/if/then/else/some/every/satisfies/switch/typeswitch/try/catch/where/group/order/by/return/count/at/in,
/element/attribute/document/text/comment/map/array/function/ordered/validate/declare/import/module/xquery/version,
and, or, div, mod, eq, is, to, union, instance, cast, treat, castable, if/x, for[1], let = some, element/x, text/x, map/x, child::and and child::or, * and *)
