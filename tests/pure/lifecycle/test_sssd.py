"""SSSD: installed where it can be, configured, and asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from slurmpod_lifecycle.directory import CA_CERTIFICATE, SSSD_CONF, servers, sssd_conf
from slurmpod_lifecycle.settings import Access, Role
from slurmpod_lifecycle.step import NotYet, StepFailed
from slurmpod_lifecycle.steps.sssd import Sssd
from tests.pure.lifecycle.fakes import NO_PEOPLE, machine_of, node
from tests.pure.lifecycle.people import DIRECTORY

ASK = "aws secretsmanager get-secret-value --region eu-west-1"


def access(**changes: Any) -> Access:
    return replace(NO_PEOPLE, home_directory="/fsx/home", directory=replace(DIRECTORY, **changes))


def step(**changes: Any) -> Sssd:
    step = Sssd(node(Role.WORKER, access=access(**changes)))
    machine = machine_of(step.node)
    machine.open_ports.add(("other.example.com", 1389))
    machine.reply(ASK, '{"password": "it\'s #1"}\n')
    return step


def lines(**changes: Any) -> list[str]:
    return sssd_conf(access(**changes)).splitlines()


class TestStep:
    def test_configures_sssd_and_starts_it(self) -> None:
        sssd = step(ca_certificate="PEM\n")
        sssd.apply()
        machine = machine_of(sssd.node)
        assert machine.files[SSSD_CONF].endswith("\nldap_default_authtok = it's #1\n")
        assert machine.access[SSSD_CONF][0] == 0o600
        assert machine.files[CA_CERTIFICATE] == "PEM\n"
        assert machine.did("systemctl restart sssd")
        assert not machine.did("env DEBIAN_FRONTEND")
        assert sssd.is_done()

    def test_the_password_is_in_no_command(self) -> None:
        sssd = step()
        sssd.apply()
        assert not [line for line in machine_of(sssd.node).ran if "it's #1" in line]

    def test_without_somebody_who_asks_no_secret_is_fetched(self) -> None:
        sssd = step(bind_dn=None, bind_secret_arn=None)
        sssd.apply()
        assert "authtok" not in machine_of(sssd.node).files[SSSD_CONF]
        assert not machine_of(sssd.node).did("aws")

    def test_a_name_and_a_password_that_are_no_longer_wanted_are_taken_away(self) -> None:
        before = step()
        before.apply()
        after = step(bind_dn=None, bind_secret_arn=None)
        machine_of(after.node).files.update(machine_of(before.node).files)
        assert not after.is_done()
        after.apply()
        assert after.is_done()

    def test_a_new_certificate_counts_from_a_new_start_on(self) -> None:
        sssd = step(ca_certificate="OLD\n")
        sssd.apply()
        machine_of(sssd.node).ran.clear()
        sssd.node = replace(sssd.node, settings=step(ca_certificate="PEM\n").node.settings)
        sssd.apply()
        assert machine_of(sssd.node).did("systemctl restart sssd")
        assert sssd.is_done()

    def test_a_password_that_has_changed_is_not_done_yet(self) -> None:
        sssd = step()
        sssd.apply()
        machine_of(sssd.node).reply(ASK, '{"password": "new"}')
        assert not sssd.is_done()
        sssd.apply()
        assert sssd.is_done()

    def test_is_installed_where_it_is_missing(self) -> None:
        sssd = step()
        machine_of(sssd.node).fail("dpkg-query")
        sssd.apply()
        installed = [line for line in machine_of(sssd.node).ran if " install " in line]
        assert installed[0].endswith("--no-install-recommends sssd-ldap libnss-sss libpam-sss")

    def test_an_interrupted_installation_is_finished_first(self) -> None:
        sssd = step()
        machine_of(sssd.node).fail("dpkg-query")
        sssd.apply()
        lines = machine_of(sssd.node).ran
        apt = [line.split()[3] for line in lines if line.startswith("env DEBIAN_FRONTEND")]
        assert apt == ["dpkg", "apt-get", "apt-get"]

    def test_a_closed_network_needs_an_image_that_has_it(self) -> None:
        sssd = step(installable=False)
        machine_of(sssd.node).fail("dpkg-query")
        with pytest.raises(StepFailed, match="has no SSSD, and a closed network") as failure:
            sssd.apply()
        assert not isinstance(failure.value, NotYet)
        assert "image_id" in failure.value.fix

    def test_servers_that_do_not_answer_are_waited_for(self) -> None:
        sssd = step()
        machine_of(sssd.node).open_ports.clear()
        with pytest.raises(NotYet, match=r"ldap\.example\.com:636, other\.example\.com:1389"):
            sssd.apply()

    def test_a_group_that_it_does_not_show_is_waited_for(self) -> None:
        sssd = step()
        machine_of(sssd.node).fail("getent group guests")
        with pytest.raises(NotYet, match="shows no group guests"):
            sssd.apply()
        assert not sssd.is_done()

    @pytest.mark.parametrize(
        "answer", ["", "no JSON", "{}", '{"password": ""}', '{"password": "a\\nb = c"}', "[1]"]
    )
    def test_a_secret_that_is_no_password_is_named_and_not_shown(self, answer: str) -> None:
        sssd = step()
        machine_of(sssd.node).reply(ASK, answer)
        with pytest.raises(StepFailed, match="secret:ldap-AbCdEf") as failure:
            sssd.apply()
        assert "b = c" not in str(failure.value)
        assert SSSD_CONF not in machine_of(sssd.node).files

    def test_is_there_for_a_directory_only(self) -> None:
        assert not Sssd.applies_to(node(Role.WORKER))
        assert Sssd.applies_to(node(Role.CONTROLLER, access=access()))


class TestConfiguration:
    def test_the_connection_is_always_encrypted_and_verified(self) -> None:
        assert "ldap_id_use_start_tls = true" in lines()
        assert "ldap_tls_reqcert = demand" in lines()

    def test_an_authority_of_ones_own_takes_the_place_of_the_images(self) -> None:
        assert f"ldap_tls_cacert = {CA_CERTIFICATE}" in lines(ca_certificate="PEM")
        assert "ldap_tls_cacert = /etc/ssl/certs/ca-certificates.crt" in lines()

    def test_allowed_groups_are_the_only_ones(self) -> None:
        assert "simple_allow_groups = hpc users, guests" in lines()
        assert "access_provider = permit" in lines(allowed_groups=())

    @pytest.mark.parametrize(
        ("kind", "schema", "mapping"),
        [
            ("rfc2307", "rfc2307", "false"),
            ("rfc2307bis", "rfc2307bis", "false"),
            ("active_directory", "ad", "true"),
        ],
    )
    def test_each_kind_of_directory(self, kind: str, schema: str, mapping: str) -> None:
        assert {f"ldap_schema = {schema}", f"ldap_id_mapping = {mapping}"} <= set(lines(kind=kind))

    def test_servers_have_the_ports_of_their_kind(self) -> None:
        assert servers(DIRECTORY) == [("ldap.example.com", 636), ("other.example.com", 1389)]
