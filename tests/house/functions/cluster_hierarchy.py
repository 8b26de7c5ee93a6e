"""What becomes of the names of scipy.cluster.hierarchy that have no rule."""

MODULES = ("scipy.cluster.hierarchy",)

TRACED = {"from_mlab_linkage to_mlab_linkage"}

CONSTANT = {
    "is_isomorphic is_monotonic is_valid_im is_valid_linkage num_obs_linkage correspond": "a question",
    "set_link_color_palette": "a setting",
    "DisjointSet": "which things belong together",
}

REFUSED = {
    "average centroid complete linkage median single ward weighted fclusterdata": "a tree that C code builds",
    "cophenet inconsistent maxRstat maxdists maxinconsts": "numbers of a tree, by C code",
    "cut_tree fcluster leaders leaves_list optimal_leaf_ordering": "a tree read by C code: give it a constant one",
    "ClusterNode dendrogram to_tree": "a tree of objects, and its drawing",
}
