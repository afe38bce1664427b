"""Invocation of moto's functions as local processes, with the credentials of their role.

moto would run them in containers. A function calls the embedded AWS while it runs, so no lock on
moto may be held meanwhile (`embedded_aws.application`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar
from datetime import UTC, datetime
from threading import Thread
from typing import Any, Final

import boto3
from botocore.exceptions import ClientError

from embedded_aws.clients import Clients
from embedded_aws.functions.process import Invocation, Outcome, run
from embedded_aws.ids import ids
from embedded_aws.isolation import variables

_WRITE_LIMIT: Final = 10_000
"""Events in one call of PutLogEvents (CloudWatch Logs API reference)."""


def invoke(function: Any, event: Any, aws: Clients) -> Outcome:
    """Run moto's function with an event, and write its log."""
    credentials = _credentials(function, aws)
    invocation = _invocation(function, event, aws, credentials)
    outcome = run(invocation)
    _write_log(invocation, outcome.log, aws)
    return outcome


def _credentials(function: Any, aws: Clients) -> dict[str, str]:
    """Return the environment variables with the credentials of the function's role."""
    session = aws.service("sts").assume_role(
        RoleArn=function.role, RoleSessionName=function.function_name
    )["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": session["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": session["SecretAccessKey"],
        "AWS_SESSION_TOKEN": session["SessionToken"],
    }


def _invocation(function: Any, event: Any, aws: Clients, credentials: dict[str, str]) -> Invocation:
    request_id = ids.uuid("request of a function")
    leading_here = variables(endpoint=aws.endpoint, account=aws.account, region=aws.region)
    return Invocation(
        arn=function.function_arn,
        name=function.function_name,
        version="$LATEST",
        runtime=str(function.run_time),
        handler=str(function.handler),
        limit_s=float(function.timeout),
        memory_mib=int(function.memory_size),
        code=function.code_bytes,
        layers=_layers(function),
        variables=leading_here | credentials,
        own_variables={name: str(value) for name, value in function.environment_vars.items()},
        request_id=request_id,
        log_stream=f"{datetime.now(UTC):%Y/%m/%d}/[$LATEST]{request_id.replace('-', '')}",
        event=event,
    )


def _layers(function: Any) -> tuple[bytes, ...]:
    from moto.awslambda.models import lambda_backends  # takes long to import

    backend = lambda_backends[function.account_id][function.region]
    found = (backend.layers_versions_by_arn(layer["Arn"]) for layer in function.layers)
    return tuple(layer.code_bytes for layer in found if layer)


def _write_log(invocation: Invocation, text: str, aws: Clients) -> None:
    """Write a log as the function's role, which may lack the permission, as in AWS."""
    given = invocation.variables
    logs = boto3.client(
        "logs",
        endpoint_url=aws.endpoint,
        region_name=aws.region,
        aws_access_key_id=given["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=given["AWS_SECRET_ACCESS_KEY"],
        aws_session_token=given["AWS_SESSION_TOKEN"],
    )
    place = {"logGroupName": invocation.log_group, "logStreamName": invocation.log_stream}
    now = int(time.time() * 1000)
    lines = filter(None, text.splitlines())
    events = [{"timestamp": now, "message": line} for line in lines][:_WRITE_LIMIT]
    for call, arguments in (
        (logs.create_log_group, {"logGroupName": invocation.log_group}),
        (logs.create_log_stream, place),
        (logs.put_log_events, {**place, "logEvents": events}),
    ):
        try:
            call(**arguments)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ResourceAlreadyExistsException":
                return


IS_AWAITED: Final[ContextVar[bool]] = ContextVar("is_awaited", default=False)
"""Whether a caller of Lambda waits for the result, without holding the lock on moto."""


def run_functions_of_moto(clients: Callable[[str], Clients]) -> None:
    """Let moto's Lambda invoke functions here; moto's own invocations run in the background."""
    from moto.awslambda.models import LambdaFunction  # takes long to import

    def invoke_lambda(function: Any, event: Any = None) -> tuple[str, bool, str]:
        arguments = (function, {} if event == "{}" else event, clients(function.region))
        if not IS_AWAITED.get():
            Thread(target=invoke, args=arguments, name=function.function_name, daemon=True).start()
            return "", False, ""
        outcome = invoke(*arguments)
        return outcome.payload, outcome.is_error, outcome.log

    LambdaFunction._invoke_lambda = invoke_lambda  # type: ignore[assignment,method-assign]  # noqa: SLF001
