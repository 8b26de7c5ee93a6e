"""What becomes of the names of scipy.cluster.hierarchy that have no rule."""

MODULES = ("scipy.cluster.hierarchy",)

TRACED = {"from_mlab_linkage to_mlab_linkage"}

CONSTANT = {
    "is_isomorphic is_monotonic is_valid_im is_valid_linkage num_obs_linkage correspond": "a yes-or-no question",
    "set_link_color_palette": "a setting",
    "DisjointSet": "clusters, which change in jumps",
}

REFUSED = {
    "average centroid complete linkage median single ward weighted fclusterdata": "C code builds the tree",
    "cophenet inconsistent maxRstat maxdists maxinconsts": "C code reads the tree",
    "cut_tree fcluster leaders leaves_list optimal_leaf_ordering": "C code reads the tree: pass a constant tree",
    "ClusterNode dendrogram to_tree": "a tree of objects, or its drawing",
}
