"""What botocore has in files is read once, except what its clients change."""

from __future__ import annotations

import os

import pytest
from botocore.loaders import Loader
from botocore.session import Session

from embedded_aws.service_descriptions import read_once


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loader, "FILE_LOADER_CLASS", Loader.FILE_LOADER_CLASS)
    monkeypatch.setattr(Loader, "list_available_services", Loader.list_available_services)
    read_once()


def test_services_are_looked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = Session().get_available_services()
    assert {"ec2", "s3"} < set(found)
    monkeypatch.setattr(os, "listdir", pytest.fail)
    assert Session().get_available_services() == found


def test_sessions_share_what_they_only_look_at() -> None:
    assert _loaded("endpoints") is _loaded("endpoints")
    assert _loaded("ec2/2016-11-15/service-2") is _loaded("ec2/2016-11-15/service-2")


def test_what_clients_change_is_their_sessions_own() -> None:
    assert _loaded("s3/2006-03-01/service-2") is not _loaded("s3/2006-03-01/service-2")


def _loaded(name: str) -> object:
    return Session().get_component("data_loader").load_data(name)
