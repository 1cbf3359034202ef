"""Which construct begins with what: XQuery 3.1 as a table."""

from demaq.xquery.parser import constructors, control, flwor, functions, primaries, types
from demaq.xquery.parser.core import Grammar
from demaq.xquery.parser.operators import operators

XQUERY = Grammar(
    statements={
        "for": flwor.flwor,
        "let": flwor.flwor,
        "if": control.conditional,
        "switch": control.switch,
        "typeswitch": control.typeswitch,
        "try": control.try_catch,
        "some": control.quantified,
        "every": control.quantified,
    },
    values={
        "validate": control.validate,
        "(#": control.extension,
    },
    primaries={
        "ordered": control.ordered,
        "unordered": control.ordered,
        "function": functions.inline_function,
        "map": functions.map_constructor,
        "array": functions.curly_array,
        "element": constructors.computed,
        "attribute": constructors.computed,
        "document": constructors.computed,
        "text": constructors.computed,
        "comment": constructors.computed,
        "processing-instruction": constructors.computed,
        "namespace": constructors.computed,
    },
    symbols={
        "$": primaries.variable_reference,
        ".": primaries.context_item,
        "(": primaries.parenthesised,
        "?": primaries.unary_lookup,
        "[": functions.square_array,
        "%": functions.annotated_function,
        "<": constructors.direct,
        "``[": constructors.string_constructor,
    },
    operators=operators,
    item_type=types.item_type,
    sequence_type=types.sequence_type,
    single_type=types.single_type,
    branch=control.branch,
)
