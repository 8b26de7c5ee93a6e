"""What becomes of the names of scipy.ndimage that have no rule."""

MODULES = ("scipy.ndimage",)

TRACED = {
    "affine_transform geometric_transform map_coordinates rotate shift zoom spline_filter convolve1d",
    "gaussian_filter gaussian_filter1d gaussian_gradient_magnitude gaussian_laplace generic_filter",
    "generic_filter1d generic_gradient_magnitude generic_laplace laplace prewitt sobel uniform_filter",
    "vectorized_filter maximum_filter maximum_filter1d minimum_filter minimum_filter1d median_filter",
    "percentile_filter rank_filter black_tophat white_tophat grey_closing grey_dilation grey_erosion grey_opening",
    "morphological_gradient morphological_laplace center_of_mass extrema labeled_comprehension maximum mean",
    "median minimum standard_deviation sum sum_labels variance",
}

CONSTANT = {
    "binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss binary_opening": "booleans",
    "binary_propagation generate_binary_structure iterate_structure": "booleans",
    "distance_transform_bf distance_transform_cdt distance_transform_edt": "distances between indices",
    "find_objects label value_indices watershed_ift maximum_position minimum_position": "indices",
    "histogram": "counts, which change in jumps",
}

REFUSED: dict[str, str] = {}
