"""What tests need of Java's packages, such as Kafka's server: fetched once, by the Ivy that comes with pyspark."""

import fcntl
import hashlib
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pyspark

_HOME = os.environ.get("JAVA_HOME")
JAVA = (f"{_HOME}/bin/java" if _HOME else "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx256m")
"""How a small Java is started."""

_FILES = Path(__file__).parent / "broker"
_OWN = Path(tempfile.gettempdir()) / f"demaq-tests-{os.getuid()}"


@cache
def jars() -> Path:
    """The folder with the jars of Kafka."""
    return fetched("kafka", _FILES / "ivy.xml")


def fetched(name: str, ivy: Path) -> Path:
    """The folder with all jars that a file of Ivy asks for. They are fetched once, whoever asks first."""
    given = ivy.read_bytes() + (_FILES / "ivysettings.xml").read_bytes()
    folder = _OWN / f"{name}-{hashlib.sha256(given).hexdigest()[:12]}"
    _OWN.mkdir(parents=True, exist_ok=True)
    with open(_OWN / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            with tempfile.TemporaryDirectory(dir=_OWN) as coming:
                _fetch(name, ivy, Path(coming))
                (Path(coming) / "lib").rename(folder)
    return folder


def _fetch(name: str, ivy: Path, folder: Path) -> None:
    (program,) = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    options = ["-settings", str(_FILES / "ivysettings.xml"), "-ivy", str(ivy)]
    options += [
        "-cache",
        str(folder / "cache"),
        "-retrieve",
        f"{folder}/lib/[conf]/[artifact]-[revision].[ext]",
        "-warn",
    ]
    done = subprocess.run([*JAVA, "-jar", str(program), *options], capture_output=True, text=True)
    assert done.returncode == 0, f"{name} could not be fetched:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"


def connector() -> str:
    """The jars that Spark needs, as its setting `spark.jars` has them."""
    return ",".join(str(path) for path in sorted((jars() / "connector").iterdir()))
