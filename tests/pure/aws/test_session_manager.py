"""Sessions that AWS begins: what its plugin is told, who sees the token, and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slurmpod.aws.errors import AwsUnavailable
from slurmpod.aws.session_manager import SessionManager, SessionRequest
from slurmpod.aws.session_plugin import INSTALLATION, NAME, RESPONSE
from tests.pure.session_fakes import TOKEN, Ssm, put_plugin

REQUEST = SessionRequest("node", "AWS-StartNonInteractiveCommand", "echo 'a \"b\"'; true")
ASKED = {
    "Target": "node",
    "DocumentName": "AWS-StartNonInteractiveCommand",
    "Parameters": {"command": ["echo 'a \"b\"'; true"]},
}
ANSWER = {"SessionId": "me-1", "TokenValue": TOKEN, "StreamUrl": "wss://x"}


@pytest.mark.parametrize(
    ("version", "takes_variable"),
    [
        ("1.2.764.0", True),
        ("1.2.498.0", True),
        ("1.10", True),
        ("1.2.497.0", False),
        ("1.2.497", False),
        ("1.1.9999.0", False),
        ("unknown", False),
    ],
)
def test_the_plugin_is_told_what_the_aws_cli_tells_it(
    version: str, takes_variable: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = f'printf "%s\\n" "$@" >{tmp_path}/arguments; printenv {RESPONSE} >{tmp_path}/variable'
    put_plugin(tmp_path, monkeypatch, f"{note}; exit 0", version)
    ssm = Ssm()
    with SessionManager(ssm.clients()).open(REQUEST) as session:
        assert session.wait() == 0
    response, *rest = (tmp_path / "arguments").read_text().split("\n")
    assert rest[:3] == ["us-west-2", "StartSession", ""]
    assert json.loads(rest[3]) == ASKED
    assert rest[4:] == ["https://ssm.example", ""]
    variable = (tmp_path / "variable").read_text()
    assert json.loads(variable if takes_variable else response) == ANSWER
    assert (response == RESPONSE) is takes_variable
    assert (TOKEN in (tmp_path / "arguments").read_text()) is not takes_variable
    assert (ssm.asked, ssm.terminated) == ([ASKED], [])


def test_a_session_for_people_has_the_document_of_the_account_or_of_the_environment() -> None:
    assert SessionRequest("node").parameters == {"Target": "node"}
    own = SessionRequest("node", "slurmpod-dev-session").parameters
    assert own == {"Target": "node", "DocumentName": "slurmpod-dev-session"}


@pytest.mark.parametrize(
    "code",
    ["TargetNotConnected", "AccessDeniedException", "ExpiredTokenException", "ThrottlingException"],
)
def test_a_refusal_is_in_the_words_of_aws(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_plugin(tmp_path, monkeypatch, f"touch {tmp_path}/begun")
    ssm = Ssm(refusal=code)
    with pytest.raises(AwsUnavailable, match=f"^cannot open a session on node: {code}: not now$"):
        SessionManager(ssm.clients()).open(REQUEST)
    assert not (tmp_path / "begun").exists()


def test_without_a_plugin_aws_begins_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ssm = Ssm()
    with pytest.raises(AwsUnavailable, match=INSTALLATION):
        SessionManager(ssm.clients()).open(REQUEST)
    assert ssm.asked == []


def test_a_plugin_that_cannot_be_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_plugin(tmp_path, monkeypatch, "")
    (tmp_path / "bin" / NAME).write_text("#!/there/is/none\n")
    ssm = Ssm()
    with pytest.raises(AwsUnavailable, match=rf"^cannot run .*/{NAME}: .*{INSTALLATION}"):
        SessionManager(ssm.clients()).open(REQUEST)
    assert ssm.asked == []


def test_a_plugin_that_has_gone_meanwhile_leaves_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_plugin(tmp_path, monkeypatch, "", version='1.2.764.0 "$(rm "$0")"')
    ssm = Ssm()
    with pytest.raises(AwsUnavailable, match="cannot run"):
        SessionManager(ssm.clients()).open(REQUEST)
    assert ssm.terminated == ["me-1"]


def test_what_the_plugin_did_not_end_in_good_order_aws_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_plugin(tmp_path, monkeypatch, "exit 3")
    ssm = Ssm()
    with SessionManager(ssm.clients()).open(REQUEST) as session:
        assert session.wait() == 3
    assert ssm.terminated == ["me-1"]


def test_an_interrupt_ends_the_session_and_the_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_plugin(tmp_path, monkeypatch, "exec sleep 600")
    ssm = Ssm()
    session = SessionManager(ssm.clients()).open(REQUEST)
    with pytest.raises(KeyboardInterrupt), session:
        raise KeyboardInterrupt
    assert session.wait() < 0
    assert ssm.terminated == ["me-1"]
