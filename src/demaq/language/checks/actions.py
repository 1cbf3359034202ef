"""Actions where none may stand, values where only actions count, and rules that do nothing."""

from demaq.diagnostics import Report
from demaq.language import codes
from demaq.language import tree as lt
from demaq.language.analysis.calls import function_key
from demaq.language.examined import Examined
from demaq.language.linked import FunctionKey, LinkedModule, LinkedRule
from demaq.language.rewrite.rewriter import is_updating
from demaq.xquery import tree as t
from demaq.xquery.analysis.context import FN
from demaq.xquery.analysis.resolve import is_unknown

_ERROR = f"Q{{{FN}}}error"

_QUESTION = "a condition is a question, not a place to act"
_ARGUMENT = "an argument is a value, and an action is none"
_CONTENT = "element content is made of values: put the action beside the element, separated by a comma"
_TRY = "an error undoes all actions of a message, so that nothing is left for `try` to save: act outside of it"
_ITEMS = "write `for $x in … return do …`"

# Why no action may stand inside a construct, from the nearest construct outwards that has a reason.
_WHY: dict[type, str] = {
    t.Let: "`let` binds values, and an action is none: put it after `return`",
    t.For: "`for` goes through values, and an action is none: put it after `return`",
    t.Where: "a condition is a question: put the action after `return`",
    t.GroupSpec: "groups are formed by values, and an action is none: put it after `return`",
    t.OrderSpec: "results are ordered by values, and an action is none: put it after `return`",
    t.FunctionCall: _ARGUMENT,
    t.DynamicCall: _ARGUMENT,
    t.AxisStep: "a predicate is a question, not a place to act",
    t.Filter: "a predicate is a question, not a place to act",
    t.Enclosed: _CONTENT,
    t.Computed: _CONTENT,
    t.DirectAttribute: "an attribute is made of values",
    t.InlineFunction: "a function that acts is declared in the module's prolog: `declare %updating function …`",
    t.Try: _TRY,
    t.Catch: _TRY,
    t.SimpleMap: f"`!` maps values to values: {_ITEMS}",
    t.Path: f"a step of a path gives nodes: {_ITEMS}",
    t.Quantified: _QUESTION,
    t.If: _QUESTION,
    t.Switch: _QUESTION,
    t.TypeSwitch: _QUESTION,
    t.VarDecl: "a variable has a value, and an action is none",
    lt.ValueClause: "a property has a value, and an action is none",
    lt.Enqueue: "what is enqueued is a message, not an action",
    lt.WithProperty: "a property has a value, and an action is none",
    lt.Reset: "a key is a value, and an action is none",
}
_ELSEWHERE = "actions stand in the branches of `if`, `switch` and `typeswitch`, after `return`, and between commas"


def check(examined: Examined, report: Report) -> None:
    checkers = {id(module): _Checker(module, examined, report) for module in examined.linked.modules}
    for rule in examined.linked.rules:
        checkers[id(rule.module)].rule(rule)
    for value in examined.linked.values:
        checkers[id(value.module)].inside(value.value, (value.clause,))
    for module in examined.linked.modules:
        checker = checkers[id(module)]
        for declaration in module.prolog:
            if isinstance(declaration, t.FunctionDecl) and declaration.body is not None:
                checker.function(declaration, declaration.body)
            elif isinstance(declaration, t.VarDecl) and declaration.value is not None:
                checker.inside(declaration.value, (declaration,))


class _Checker:
    def __init__(self, module: LinkedModule, examined: Examined, report: Report) -> None:
        self._examined = examined
        self._report = report
        self._module = module
        self._acting = _acting_functions(module)

    def rule(self, rule: LinkedRule) -> None:
        if not isinstance(rule.body, t.If):
            self._report.say(
                codes.NOT_CONDITIONAL,
                rule.body.span,
                f"the body of the rule `{rule.name}` is no conditional",
                help="a rule reacts when something holds: `if (…) then do …`",
            )
        if not self._acts(rule.body) and not any(isinstance(node, t.Expr) and _is_error(node) for node in rule.nodes):
            self._report.say(
                codes.NO_ACTION,
                rule.span,
                f"the rule `{rule.name}` does nothing",
                help=next(
                    (help_ for node in rule.nodes if (help_ := _without_do(node)) is not None),
                    "a rule performs actions, such as `do enqueue E into Q` or `do reset`",
                ),
            )
            return
        self._updating(rule.body)

    def function(self, declaration: t.FunctionDecl, body: t.Expr) -> None:
        if not is_updating(declaration):
            if self._acts(body):
                self._report.say(
                    codes.NOT_UPDATING,
                    declaration.name.span,
                    f"the function `{declaration.name}` performs actions, but is not declared `%updating`",
                    help=f"write `declare %updating function {declaration.name}(…)`",
                )
                self._updating(body)
            else:
                self.inside(body, ())
        elif not self._acts(body):
            self._report.say(
                codes.NOT_UPDATING,
                declaration.name.span,
                f"the function `{declaration.name}` is declared `%updating`, but performs no action",
                help="take `%updating` away, or add an action",
            )
            self.inside(body, ())
        else:
            self._updating(body)

    def _is_action(self, node: t.Node) -> bool:
        return isinstance(node, lt.ACTIONS) or (isinstance(node, t.FunctionCall) and function_key(node) in self._acting)

    def _acts(self, expr: t.Node) -> bool:
        return any(self._is_action(node) for node in t.walk(expr))

    def _updating(self, expr: t.Expr) -> None:
        """An expression where actions are expected."""
        if isinstance(expr, t.If):
            self.inside(expr.condition, (expr,))
            self._updating(expr.then)
            if expr.otherwise is not None:
                self._updating(expr.otherwise)
        elif isinstance(expr, t.Sequence):
            for item in expr.items:
                self._updating(item)
        elif isinstance(expr, t.Flwor):
            for clause in expr.clauses:
                self._value(clause, ())
            self._updating(expr.result)
        elif isinstance(expr, t.Switch | t.TypeSwitch):
            self._choice(expr)
        elif self._is_action(expr) or self._acts(expr):
            self._value(expr, ())
        elif not (is_unknown(expr) or _is_error(expr) or self._is_declared_updating(expr)):
            self._report.say(
                codes.VALUE_FOR_ACTION,
                expr.span,
                "this value goes nowhere: only actions count here",
                help=_without_do(expr) or "put it into a queue with `do enqueue … into …`, or write `()` for nothing",
            )

    def _is_declared_updating(self, expr: t.Expr) -> bool:
        key = function_key(expr)
        function = self._module.functions.get(key) if key is not None else None
        return function is not None and is_updating(function.declaration)

    def _choice(self, expr: t.Switch | t.TypeSwitch) -> None:
        self.inside(expr.operand, (expr,))
        if isinstance(expr, t.Switch):
            for case in expr.cases:
                for value in case.values:
                    self.inside(value, (expr,))
                self._updating(case.result)
            self._updating(expr.default)
        else:
            for typed in (*expr.cases, expr.default):
                self._updating(typed.result)

    def inside(self, node: t.Node, around: tuple[t.Node, ...]) -> None:
        """A node where only values may stand; `around` is what it stands in, the nearest first."""
        if self._is_action(node):
            reasons = (_WHY[type(outer)] for outer in around if type(outer) in _WHY)
            self._report.say(
                codes.MISPLACED_ACTION, node.span, "an action cannot stand here", help=next(reasons, _ELSEWHERE)
            )
            self._examined.refuse(node)
        elif isinstance(node, t.If) and node.otherwise is None:
            self._report.say(
                codes.ELSE_MISSING,
                node.span,
                "this `if` gives a value, and has no `else`",
                help="add `else ()`; only an `if` that chooses between actions may leave `else` away",
            )
        self._value(node, around)

    def _value(self, node: t.Node, around: tuple[t.Node, ...]) -> None:
        # Content in an attribute is the attribute's.
        in_attribute = isinstance(node, t.Enclosed) and isinstance(next(iter(around), None), t.DirectAttribute)
        outer = around if in_attribute else (node, *around)
        for child in t.children(node):
            self.inside(child, outer)


def _acting_functions(module: LinkedModule) -> set[FunctionKey]:
    """The functions that perform actions, whatever they are declared to be."""
    acting = {
        key
        for key, function in module.functions.items()
        if any(isinstance(node, lt.ACTIONS) for node in function.nodes)
    }
    while True:
        more = {
            key
            for key, function in module.functions.items()
            if any(isinstance(node, t.FunctionCall) and function_key(node) in acting for node in function.nodes)
        } - acting
        if not more:
            return acting
        acting |= more


def _without_do(expr: t.Node) -> str | None:
    """The help for an action that lacks its first word."""
    is_word = isinstance(expr, t.AxisStep) and isinstance(expr.test, t.NameTest) and str(expr.test.name) == "reset"
    return "did you mean `do reset`?" if is_word else None


def _is_error(expr: t.Expr) -> bool:
    return isinstance(expr, t.FunctionCall) and expr.name.expanded == _ERROR
