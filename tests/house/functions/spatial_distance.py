"""What becomes of the names of scipy.spatial.distance that have no rule."""

MODULES = ("scipy.spatial.distance",)

TRACED = {
    "braycurtis canberra cdist chebyshev cityblock correlation cosine dice directed_hausdorff euclidean hamming",
    "jaccard jensenshannon mahalanobis minkowski pdist rogerstanimoto russellrao seuclidean sokalsneath sqeuclidean",
    "squareform yule kulczynski1 sokalmichener",
}

CONSTANT = {"is_valid_dm is_valid_y num_obs_dm num_obs_y": "a yes-or-no question"}

REFUSED: dict[str, str] = {}
