"""Nodes of a plan as data frames: a small function for each kind. Their columns are those of `Names.layout`."""

from collections.abc import Callable
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from demaq.pipelines.optimise.empty import is_empty
from demaq.pipelines.plan import nodes as n
from demaq.pipelines.values import ValueType
from demaq.pipelines.vocabulary import Function
from demaq.spark.pipelines.expressions import Named, condition, constant, existing, expression
from demaq.spark.pipelines.state import NOTHING, State
from demaq.spark.pipelines.values import MESSAGE, frame, place, sort_key, spark_type

_FOUND = "found"
_WIDE = "decimal(38, 0)"  # for sums of integers


def compiled(node: n.Node, state: State) -> DataFrame:
    """The rows of a node."""
    return _COMPILERS[type(node)](node, state)


# Where rows come from


def _scan(node: n.Scan, state: State) -> DataFrame:
    channel = state.channels[node.channel]
    facts = channel.facts.get(node.relation)
    if facts is None:
        facts = frame(state.spark, node.parameters, (), numbered=True)
    return _brought(node, facts, state)


def _load(node: n.Load, state: State) -> DataFrame:
    facts = state.enrichers.get((node.enricher, node.relation))
    if facts is None:
        facts = frame(state.spark, node.parameters, (), numbered=False)
    return _brought(node, facts, state)


def _brought(node: n.Scan | n.Load, facts: DataFrame, state: State) -> DataFrame:
    """Selections and projections stand right above what is read, where Spark passes them on to files and tables."""
    places = {parameter.name: place(number) for number, parameter in enumerate(node.parameters)}
    chosen = _selected(facts, node.conditions, places)
    columns = [F.col(places[column.name]).alias(state.names[column.name]) for column in node.columns]
    return _laid_out(chosen, columns, node)


def _laid_out(found: DataFrame, columns: list[Column], node: n.Node) -> DataFrame:
    first = [F.col(MESSAGE)] if node.channels else []
    return found.select(*first, *columns) if first or columns else found.select(F.lit(1).alias(NOTHING))


def _nothing(node: n.Node, state: State) -> DataFrame:
    """No rows, in a way that Spark knows to be none, and makes nothing of."""
    columns = [F.lit(None).cast(spark_type(column.type)).alias(state.names[column.name]) for column in node.columns]
    first = state.spark.range(1).select(F.col("id").alias(MESSAGE), F.lit(1).alias(NOTHING))
    return _laid_out(first, columns, node).where(F.lit(False))


def _values(node: n.Values, state: State) -> DataFrame:
    if not node.rows:
        return _nothing(node, state)
    found = frame(state.spark, node.columns, node.rows, numbered=False) if node.columns else None
    if found is None:
        return state.spark.range(len(node.rows)).select(F.lit(1).alias(NOTHING))
    columns = [F.col(place(number)).alias(state.names[column.name]) for number, column in enumerate(node.columns)]
    return found.select(*columns)


def _read(node: n.Read, state: State) -> DataFrame:
    """What a relation has by place, under the names that this node has for it."""
    found = state.relation(node.relation, node.version)
    columns = [F.col(place(number)).alias(state.names[column.name]) for number, column in enumerate(node.columns)]
    return _laid_out(found, columns, node)


# One input


def _named(node: n.Node, state: State) -> Named:
    return {column.name: state.names[column.name] for column in node.columns}


def _select(node: n.Select, state: State) -> DataFrame:
    return _selected(compiled(node.input, state), node.conditions, _named(node.input, state))


def _selected(found: DataFrame, conditions: tuple[n.Condition, ...], named: Named) -> DataFrame:
    if not conditions:
        return found
    return found.where(reduce(lambda left, right: left & right, (condition(each, named) for each in conditions)))


def _project(node: n.Project, state: State) -> DataFrame:
    named = _named(node.input, state)
    columns = [expression(term, named, column.type).alias(state.names[column.name]) for column, term in node.items]
    return _laid_out(compiled(node.input, state), columns, node)


def _assign(node: n.Assign, state: State) -> DataFrame:
    name = state.names[node.column.name]
    value = expression(node.value, _named(node.input, state), node.column.type)
    found = compiled(node.input, state).withColumn(name, value).where(F.col(name).isNotNull())
    return found.select(*state.names.layout(node))


def _distinct(node: n.Distinct, state: State) -> DataFrame:
    return compiled(node.input, state).distinct()


def _spread(node: n.Spread, state: State) -> DataFrame:
    if is_empty(node):
        return _nothing(node, state)
    messages = state.messages(node.channels).select(MESSAGE)
    found = messages.crossJoin(F.broadcast(compiled(node.input, state)))
    return found.select(*state.names.layout(node))


def _pair(node: n.Pair, state: State) -> DataFrame:
    return compiled(node.input, state).join(state.messages(node.channels), MESSAGE, "left_semi")


def _aggregate(node: n.Aggregate, state: State) -> DataFrame:
    keys = [name for name in state.names.layout(node) if name != state.names[node.result.name]]
    over = None if node.over is None else F.col(state.names[node.over.name])
    found = _summary(node, over)
    grouped = compiled(node.input, state).groupBy(*keys).agg(found.alias(state.names[node.result.name]))
    if not keys:
        grouped = grouped.where(_some(compiled(node.input, state)))
    if node.function is not Function.SUM:
        grouped = grouped.where(F.col(state.names[node.result.name]).isNotNull())
    return grouped.select(*state.names.layout(node))


def _some(found: DataFrame) -> Column:
    """Is there a row? Without groups, Spark gives one row over nothing."""
    return found.limit(1).select(F.lit(1)).exists()


def _summary(node: n.Aggregate, over: Column | None) -> Column:
    if over is None:
        return F.count(F.lit(1))
    assert node.over is not None
    if node.function in (Function.MAX, Function.MIN):
        return _extreme(node, over)
    found = F.try_sum(over) if node.function is Function.SUM else _average(over, node.over.type)
    is_floating = node.result.type in (ValueType.DOUBLE, ValueType.NUMBER)
    return existing(found) if is_floating else found.try_cast(spark_type(node.result.type))


def _average(over: Column, type_: ValueType) -> Column:
    """Of integers and decimals, the sum is exact: Spark's own average of integers is not, and that of decimals has no
    room for large ones."""
    if type_ is ValueType.INTEGER:
        return F.try_sum(over.cast(_WIDE)).cast("double") / F.count(over)
    return F.try_divide(F.try_sum(over), F.count(over)) if type_ is ValueType.DECIMAL else F.try_avg(over)


def _extreme(node: n.Aggregate, over: Column) -> Column:
    assert node.over is not None
    extreme = F.max if node.function is Function.MAX else F.min
    if node.over.type is not ValueType.ANY:
        return extreme(over)
    by = F.max_by if node.function is Function.MAX else F.min_by
    return by(over, sort_key(over))


# Several inputs


def _hinted(left: DataFrame, right: DataFrame, side: n.Side | None) -> tuple[DataFrame, DataFrame]:
    if side is n.Side.LEFT:
        return F.broadcast(left), right
    return (left, F.broadcast(right)) if side is n.Side.RIGHT else (left, right)


def _sides(node: n.Join | n.AntiJoin | n.OuterJoin, state: State) -> tuple[DataFrame, DataFrame, list[str]]:
    """Both sides, and the columns that they have in common."""
    left, right = compiled(node.left, state), compiled(node.right, state)
    own, other = state.names.layout(node.left), state.names.layout(node.right)
    return left, right, [name for name in other if name in own and name != NOTHING]


def _join(node: n.Join, state: State) -> DataFrame:
    left, right, common = _sides(node, state)
    left, right = _hinted(left, right.drop(NOTHING), node.broadcast)
    found = left.join(right, common) if common else left.crossJoin(right)
    return found.select(*state.names.layout(node))


def _anti_join(node: n.AntiJoin, state: State) -> DataFrame:
    left, right, common = _sides(node, state)
    if not common:
        return left.where(~_some(right))
    left, right = _hinted(left, right, node.broadcast)
    return left.join(right, common, "left_anti")


def _outer_join(node: n.OuterJoin, state: State) -> DataFrame:
    left, right, common = _sides(node, state)
    result = node.right.columns[-1]
    name = state.names[result.name]
    right = right.drop(NOTHING).withColumn(_FOUND, F.lit(1))
    left, right = _hinted(left, right, node.broadcast)
    joined = left.join(right, common, "left") if common else left.join(right, F.lit(1) == 1, "left")
    value = F.when(F.col(_FOUND).isNull(), constant(node.otherwise, result.type)).otherwise(F.col(name))
    found = joined.withColumn(name, value).where(F.col(name).isNotNull())
    return found.select(*state.names.layout(node))


def _union(node: n.Union, state: State) -> DataFrame:
    layout = state.names.layout(node)
    inputs = [compiled(each, state).select(*layout) for each in node.inputs]
    return reduce(DataFrame.union, inputs)


_COMPILERS: dict[type, Callable[..., DataFrame]] = {
    n.Scan: _scan,
    n.Load: _load,
    n.Values: _values,
    n.Read: _read,
    n.Select: _select,
    n.Project: _project,
    n.Assign: _assign,
    n.Distinct: _distinct,
    n.Spread: _spread,
    n.Pair: _pair,
    n.Union: _union,
    n.Aggregate: _aggregate,
    n.Join: _join,
    n.AntiJoin: _anti_join,
    n.OuterJoin: _outer_join,
}
