"""What becomes of the names of scipy.spatial.transform that have no rule."""

MODULES = ("scipy.spatial.transform",)

TRACED = {"RigidTransform Rotation RotationSpline Slerp"}

CONSTANT: dict[str, str] = {}

REFUSED: dict[str, str] = {}
