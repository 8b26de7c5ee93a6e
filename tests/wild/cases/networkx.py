"""networkx: graphs with traced weights."""

import networkx as nx
import numpy as np
from case import case

W = np.array([1.0, 2.5, 0.7, 1.3, 0.9])
EDGES = [(0, 1), (1, 2), (0, 2), (2, 3), (1, 3)]


def graph(w):
    g = nx.Graph()
    for (i, j), weight in zip(EDGES, w, strict=True):
        g.add_edge(i, j, weight=weight)
    return g


@case(W)
def shortest_path(w):
    return nx.shortest_path_length(graph(w), 0, 3, weight="weight")


@case(W)
def spanning_tree(w):
    return nx.minimum_spanning_tree(graph(w)).size(weight="weight")


@case(W)
def laplacian_spectrum(w):
    return nx.laplacian_spectrum(graph(w))[1:]


@case(W)
def pagerank(w):
    return np.array([*nx.pagerank(graph(w), weight="weight").values()])


@case(W)
def max_flow(w):
    g = graph(w)
    for i, j, d in g.edges(data=True):
        d["capacity"] = d["weight"]
    return nx.maximum_flow_value(g, 0, 3)


@case(W)
def clustering(w):
    return nx.average_clustering(graph(w), weight="weight")
