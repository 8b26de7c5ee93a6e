"""What becomes of the names of scipy.fft that have no rule."""

MODULES = ("scipy.fft",)

TRACED = {"fftshift ifftshift fftfreq rfftfreq fhtoffset"}

CONSTANT = {
    "get_workers set_workers": "a number of threads",
    "register_backend set_backend set_global_backend skip_backend": "the choice of a library",
}

REFUSED: dict[str, str] = {}
