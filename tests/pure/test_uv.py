"""What pip is told of where packages come from, uv is told, too."""

from __future__ import annotations

from tools.uv import LIKE_PIP, variables

LISTED = r"""
:env:.index-url='https://new.test/simple'
:env:.no-input='1'
global.cert='/etc/ours.pem'
global.extra-index-url='\nhttps://a.test\nhttps://b.test'
global.find-links='/a /b'
global.index-url='https://old.test/simple'
install.index-url='https://older.test/simple'
"""


def test_uv_looks_where_pip_does() -> None:
    assert variables(LISTED) == LIKE_PIP | {
        "UV_DEFAULT_INDEX": "https://new.test/simple",
        "UV_INDEX": "https://a.test https://b.test",
        "UV_FIND_LINKS": "/a,/b",
        "SSL_CERT_FILE": "/etc/ours.pem",
    }


def test_without_configuration_only_ways_are_pips() -> None:
    assert variables("") == LIKE_PIP
