import pytest

from demaq.drawing import Edge, Graph, Node


def test_two_nodes_with_one_id_are_refused() -> None:
    with pytest.raises(ValueError, match="two nodes have the id 'crm'"):
        Graph(title="", nodes=(Node(id="crm", label="a"), Node(id="crm", label="b")), edges=())


def test_an_edge_to_nowhere_is_refused_and_the_nearest_name_is_offered() -> None:
    nodes = (Node(id="finance", label="finance"), Node(id="legal", label="legal"))
    with pytest.raises(ValueError, match=r"names 'finnace'.*did you mean 'finance'"):
        Graph(title="", nodes=nodes, edges=(Edge(source="legal", target="finnace"),))


def test_without_a_near_name_nothing_is_offered() -> None:
    with pytest.raises(ValueError, match=r"names 'zzz', which is not a node's id$"):
        Graph(title="", nodes=(Node(id="a", label="a"),), edges=(Edge(source="zzz", target="a"),))
