"""What becomes of the names of scipy.cluster.vq that have no rule."""

MODULES = ("scipy.cluster.vq",)

TRACED = {"kmeans kmeans2 py_vq vq whiten"}

CONSTANT: dict[str, str] = {}

REFUSED: dict[str, str] = {}
