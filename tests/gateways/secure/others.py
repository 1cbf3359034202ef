"""Others who know WS-Security, for comparison. What they say of their types is not what they do."""

from importlib import import_module
from typing import Any

xmlsec: Any = import_module("xmlsec")
signxml: Any = import_module("signxml")
zeep_signature: Any = import_module("zeep.wsse.signature")
zeep_username: Any = import_module("zeep.wsse.username")
zeep_utils: Any = import_module("zeep.wsse.utils")
