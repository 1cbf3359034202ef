"""Actions where none may stand, values where only actions count, and rules that do nothing."""

from demaq.diagnostics import Report
from demaq.language import codes
from demaq.language import tree as lt
from demaq.language.analysis.calls import function_key
from demaq.language.examined import Examined
from demaq.language.linked import LinkedModule, LinkedRule
from demaq.language.rewrite.rewriter import is_updating
from demaq.xquery import tree as t
from demaq.xquery.analysis.resolve import is_unknown

_ERROR = "Q{http://www.w3.org/2005/xpath-functions}error"

_WHY: dict[type, str] = {
    t.Let: "`let` binds values, and an action is none: put it after `return`",
    t.For: "`for` goes through values, and an action is none: put it after `return`",
    t.Where: "a condition is a question: put the action after `return`",
    t.FunctionCall: "an argument is a value, and an action is none",
    t.DynamicCall: "an argument is a value, and an action is none",
    t.AxisStep: "a predicate is a question, not a place to act",
    t.Filter: "a predicate is a question, not a place to act",
    t.Enclosed: "element content is made of values: put the action beside the element, separated by a comma",
    t.DirectAttribute: "an attribute is made of values",
    t.InlineFunction: "a function that acts is declared in the module's prolog: `declare %updating function …`",
    t.Try: "what is undone together is done together: an error undoes all actions of a message, so `try` cannot",
    t.Catch: "what is undone together is done together: an error undoes all actions of a message, so `catch` cannot",
    t.SimpleMap: "`!` maps values to values: write `for $x in … return do …`",
    t.Path: "a step of a path gives nodes: write `for $x in … return do …`",
    t.Quantified: "a condition is a question, not a place to act",
    lt.Enqueue: "what is enqueued is a message, not an action",
    lt.WithProperty: "a property has a value, and an action is none",
    lt.Reset: "a key is a value, and an action is none",
}
_ELSEWHERE = "actions stand in the branches of `if`, `switch` and `typeswitch`, after `return`, and between commas"


def check(examined: Examined, report: Report) -> None:
    for rule in examined.linked.rules:
        _Checker(rule.module, report).rule(rule)
    for value in examined.linked.values:
        _Checker(value.module, report).value(value.value)
    for module in examined.linked.modules:
        checker = _Checker(module, report)
        for declaration in module.prolog:
            if isinstance(declaration, t.FunctionDecl) and declaration.body is not None:
                checker.function(declaration, declaration.body)
            elif isinstance(declaration, t.VarDecl) and declaration.value is not None:
                checker.value(declaration.value)


class _Checker:
    def __init__(self, module: LinkedModule, report: Report) -> None:
        self._module = module
        self._report = report

    def rule(self, rule: LinkedRule) -> None:
        if not isinstance(rule.body, t.If):
            self._report.say(
                codes.NOT_CONDITIONAL,
                rule.body.span,
                f"the body of the rule `{rule.name}` is no conditional",
                help="a rule reacts when something holds: `if (…) then do …`",
            )
        if not self._acts(rule.body):
            self._report.say(
                codes.NO_ACTION,
                rule.span,
                f"the rule `{rule.name}` does nothing",
                help="a rule performs actions, such as `do enqueue E into Q` or `do reset`",
            )
            self.value(rule.body, may_lack_else=True)
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
                self.value(body)
        elif not self._acts(body):
            self._report.say(
                codes.NOT_UPDATING,
                declaration.name.span,
                f"the function `{declaration.name}` is declared `%updating`, but performs no action",
                help="take `%updating` away, or add an action",
            )
            self.value(body)
        else:
            self._updating(body)

    def _is_action(self, node: t.Node) -> bool:
        if isinstance(node, lt.ACTIONS):
            return True
        key = function_key(node)
        function = self._module.functions.get(key) if key is not None else None
        return function is not None and (
            is_updating(function.declaration) or any(isinstance(inner, lt.ACTIONS) for inner in function.nodes)
        )

    def _acts(self, expr: t.Node) -> bool:
        return any(self._is_action(node) for node in t.walk(expr))

    def _updating(self, expr: t.Expr) -> None:
        """An expression where actions are expected."""
        if isinstance(expr, t.If):
            self._inside(expr, expr.condition)
            self._updating(expr.then)
            if expr.otherwise is not None:
                self._updating(expr.otherwise)
        elif isinstance(expr, t.Sequence):
            for item in expr.items:
                self._updating(item)
        elif isinstance(expr, t.Flwor):
            for clause in expr.clauses:
                self.value(clause)
            self._updating(expr.result)
        elif isinstance(expr, t.Switch | t.TypeSwitch):
            self._choice(expr)
        elif self._is_action(expr):
            for child in t.children(expr):
                self._inside(expr, child)
        elif self._acts(expr):
            self.value(expr)
        elif not (is_unknown(expr) or _is_error(expr)):
            self._report.say(
                codes.VALUE_FOR_ACTION,
                expr.span,
                "this value goes nowhere: only actions count here",
                help="put it into a queue with `do enqueue … into …`, or write `()` for nothing",
            )

    def _choice(self, expr: t.Switch | t.TypeSwitch) -> None:
        self._inside(expr, expr.operand)
        if isinstance(expr, t.Switch):
            for case in expr.cases:
                for value in case.values:
                    self._inside(expr, value)
                self._updating(case.result)
            self._updating(expr.default)
        else:
            for typed in (*expr.cases, expr.default):
                self._updating(typed.result)

    def value(self, expr: t.Node, *, may_lack_else: bool = False) -> None:
        """An expression where only values may stand."""
        if isinstance(expr, t.If) and expr.otherwise is None and not may_lack_else:
            self._report.say(
                codes.ELSE_MISSING,
                expr.span,
                "this `if` gives a value, and has no `else`",
                help="add `else ()`; only an `if` that chooses between actions may leave `else` away",
            )
        for child in t.children(expr):
            self._inside(expr, child)

    def _inside(self, parent: t.Node, child: t.Node) -> None:
        if self._is_action(child):
            self._report.say(
                codes.MISPLACED_ACTION,
                child.span,
                "an action cannot stand here",
                help=_WHY.get(type(parent), _ELSEWHERE),
            )
            for inner in t.children(child):
                self._inside(child, inner)
        else:
            self.value(child)


def _is_error(expr: t.Expr) -> bool:
    return isinstance(expr, t.FunctionCall) and expr.name.expanded == _ERROR
