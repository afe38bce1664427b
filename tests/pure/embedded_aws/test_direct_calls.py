"""What a process asks its own server: the same requests and answers as over the network."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import pytest
from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.direct_calls import DirectCalls

ENDPOINT = "http://127.0.0.1:4000"
WAITING = ContextVar("WAITING", default=False)


class Application:
    """Answers everything alike, and remembers what it was asked."""

    def __init__(self, status: str, body: bytes) -> None:
        self.status, self.body = status, body
        self.asked: dict[str, Any] = {}

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        self.asked = {**environ, "body": environ["wsgi.input"].read(), "waiting": WAITING.get()}
        start_response(self.status, [("Content-Type", "text/xml"), ("ETag", '"e"')])
        return [self.body]


def s3_of(application: Application) -> Any:
    answer = DirectCalls(application).answer
    clients = Clients(endpoint=ENDPOINT, account="1" * 12, region="us-west-2", answer=answer)
    return clients.s3


def test_the_application_gets_the_request_as_it_was_sent() -> None:
    application = Application("200 OK", b"")
    put = {"Bucket": "data", "Key": "a b/ä", "Body": b"content", "Metadata": {"my_key": "v"}}
    assert s3_of(application).put_object(**put)["ETag"] == '"e"'
    asked = application.asked
    assert (asked["REQUEST_METHOD"], asked["HTTP_HOST"]) == ("PUT", "127.0.0.1:4000")
    assert asked["PATH_INFO"].encode("latin-1").decode() == "/data/a b/ä"
    assert asked["RAW_URI"] == "/data/a%20b/%C3%A4"
    assert (asked["body"], asked["CONTENT_LENGTH"]) == (b"content", "7")
    assert list(asked["moto.preserved_header_names"].values()) == ["x-amz-meta-my_key"]
    assert "Credential=" in asked["HTTP_AUTHORIZATION"]


def test_queries_arrive() -> None:
    application = Application("200 OK", b"<ListBucketResult/>")
    s3_of(application).list_objects_v2(Bucket="data", Prefix="a b")
    assert "prefix=a%20b" in application.asked["QUERY_STRING"]
    assert application.asked["RAW_URI"] == f"/data?{application.asked['QUERY_STRING']}"


def test_content_is_read_as_it_comes() -> None:
    answer = s3_of(Application("200 OK", b"content")).get_object(Bucket="data", Key="k")
    assert answer["Body"].read() == b"content"


def test_the_answer_to_head_has_no_content() -> None:
    with pytest.raises(ClientError, match="404"):
        s3_of(Application("404 NOT FOUND", b"<Error>")).head_object(Bucket="data", Key="k")


def test_errors_are_those_of_the_service() -> None:
    error = b"<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>"
    with pytest.raises(ClientError, match="NoSuchKey"):
        s3_of(Application("404 NOT FOUND", error)).get_object(Bucket="data", Key="k")


def test_the_service_sees_nothing_of_who_waits_for_it() -> None:
    application = Application("200 OK", b"")
    WAITING.set(True)
    s3_of(application).put_object(Bucket="data", Key="k", Body=b"")
    assert application.asked["waiting"] is False
