"""What becomes of the names of numpy.fft that have no rule."""

MODULES = ("numpy.fft",)

TRACED = {
    "fft2 fftn ifft2 ifftn rfft2 rfftn irfft2 irfftn hfft ihfft fftshift ifftshift fftfreq rfftfreq",
}

CONSTANT: dict[str, str] = {}

REFUSED: dict[str, str] = {}
