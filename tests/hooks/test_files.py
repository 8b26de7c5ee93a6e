"""Writing numbers into files is no part of a derivative; numbers that are read again are refused."""

from __future__ import annotations

import csv
import gzip
import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import wengert as wg


def _texts(x, file):
    y = np.sin(x)
    with open(file, "a") as stream:
        stream.write(f"{y}\n")
        stream.writelines([f"{y:g}\n", "end\n"])
        print(y, file=stream)
        stream.flush()
    return y


def _closed(x, file):
    y = np.sin(x)
    stream = open(file, "w")
    stream.writelines([f"{y}"])
    stream.close()
    return y


def _of_csv(x, file):
    y = np.sin(x)
    with open(file, "a", newline="") as stream:
        csv.writer(stream).writerow([float(y), 1])
        csv.DictWriter(stream, ["y"]).writerow({"y": y})
    return y


def _of_json(x, file):
    y = np.sin(x)
    with open(file, "w") as stream:
        json.dump({"y": float(y), "all": [float(y)]}, stream)
    return y


def _of_pickle(x, file):
    y = np.sin(x)
    with open(file, "wb") as stream:
        pickle.dump({"y": y}, stream)
    return y


def _of_numpy(x, file):
    y = np.sin(x) * np.ones(3)
    np.savetxt(file, y)
    np.save(f"{file}.npy", y)
    np.savez(f"{file}.npz", y=y)
    np.savez_compressed(Path(f"{file}-small.npz"), y=y)
    y.tofile(file)
    y.dump(file)
    with open(file, "wb") as stream:
        np.save(stream, y)
        y.tofile(stream)
    return y[0]


def _of_scipy(x, file):
    y = np.sin(x) * np.ones(3)
    scipy.sparse.save_npz(file, scipy.sparse.csr_array(np.diag(y)))
    return y[0]


WRITERS = [_texts, _closed, _of_csv, _of_json, _of_pickle, _of_numpy, _of_scipy]


@pytest.mark.parametrize("f", WRITERS)
def test_a_file_gets_what_it_gets_untraced(f: Any, tmp_path: Path) -> None:
    plain, traced, taped = [tmp_path / name / "of" for name in ("plain", "traced", "taped")]
    for path in (plain, traced, taped):
        path.parent.mkdir()
    assert f(1.3, str(plain)) == np.sin(1.3)
    assert wg.grad(f, argnums=0)(1.3, str(traced)) == pytest.approx(np.cos(1.3), rel=1e-15)
    assert wg.trace(f, 1.3, str(taped))[0] == np.sin(1.3)
    for path in plain.parent.iterdir():
        if f is not _of_scipy and path.suffix != ".npz":  # which hold the time
            assert path.read_bytes() == (traced.parent / path.name).read_bytes()


def _read(stream):
    stream.seek(0)
    return float(stream.read())


def _lines(stream):
    stream.seek(0)
    return sum([float(line) for line in stream])


def _in_memory(x, kind):
    stream = io.StringIO(newline="") if kind == "csv" else io.BytesIO()
    if kind == "csv":
        csv.writer(stream).writerow([x * 1.0])
        return float(stream.getvalue()) * x
    (np.save if kind == "save" else lambda stream, y: pickle.dump(y, stream))(stream, x * np.ones(2))
    stream.seek(0)
    return np.sum((np.load if kind == "save" else pickle.load)(stream)) * x


@pytest.mark.parametrize("kind", ["csv", "save", "pickle"])
def test_a_stream_in_memory_is_refused(kind: str) -> None:
    with pytest.raises(wg.NoRuleError):
        wg.grad(_in_memory)(1.3, kind)


@pytest.mark.parametrize("write", ["write", "flush", "print", "csv", "tofile", "save", "dump"])
@pytest.mark.parametrize("read", [_read, _lines])
def test_a_number_that_is_read_from_the_file_is_refused(write: str, read: Any, tmp_path: Path) -> None:
    def f(x):
        of_bytes = write in ("tofile", "save", "dump")
        with open(tmp_path / "file", "wb+" if of_bytes else "w+") as stream:
            y = x * 1.0
            if write in ("write", "flush"):
                stream.write(str(y))
            elif write == "print":
                print(y, file=stream)
            elif write == "csv":
                csv.writer(stream).writerow([y])
            elif write == "tofile":
                (y * np.ones(2)).tofile(stream)
            else:
                np.save(stream, y) if write == "save" else pickle.dump(y, stream)
            if write == "flush":
                stream.flush()
            return x * (np.fromfile(stream)[0] if of_bytes else read(stream))

    with pytest.raises(wg.NoRuleError):
        wg.grad(f)(1.3)


class Kept(io.RawIOBase):
    """A file of the user's, which keeps what is written."""

    def __init__(self) -> None:
        self.content = b""

    def write(self, data: Any) -> int:
        self.content += data if isinstance(data, bytes) else bytes(str(data), "ascii")
        return len(data)


@pytest.mark.parametrize(
    "write",
    [lambda y, file: csv.writer(file).writerow([y]), pickle.dump, lambda y, file: np.save(file, y)],
    ids=["csv", "pickle", "save"],
)
def test_a_file_of_the_users_may_keep_what_is_written(write: Any) -> None:
    def f(x):
        file = Kept()
        write(np.sin(x), file)
        return x * len(file.content)

    with pytest.raises(wg.NoRuleError):
        wg.grad(f)(1.3)


@pytest.mark.parametrize(
    "write",
    [
        lambda y, file: print(y, file=io.TextIOWrapper(file, write_through=True)),
        lambda y, file: io.TextIOWrapper(file, write_through=True).write(str(y)),
        lambda y, file: pickle.dump(y, gzip.GzipFile(fileobj=file, mode="wb")),
        lambda y, file: np.save(io.BufferedWriter(file), y),
    ],
    ids=["print", "write", "gzip", "save"],
)
def test_what_is_passed_on_to_a_stream_in_memory_is_refused(write: Any) -> None:
    def f(x):
        file = io.BytesIO()
        write(np.sin(x), file)
        return x * float(file.getvalue()[:4])

    with pytest.raises((wg.NoRuleError, wg.RefusedCallError)):
        wg.grad(f)(1.3)


def test_a_compressed_file_is_written(tmp_path: Path) -> None:
    def f(x):
        with gzip.open(tmp_path / "y.gz", "wb") as file:
            np.save(file, np.sin(x) * np.ones(2))
        return np.sin(x)

    assert wg.grad(f)(1.3) == pytest.approx(np.cos(1.3), rel=1e-14)
    with gzip.open(tmp_path / "y.gz") as file:
        np.testing.assert_array_equal(np.load(file), np.sin(1.3) * np.ones(2))
