from __future__ import annotations

from typing import Any

import pytest

from slurmpod import deployment_record
from slurmpod.changes.compare import changes
from slurmpod.deployment_record import read_record
from slurmpod.environment.base import Effect, Kind, Section, effect_of
from slurmpod.environment.cluster import Cluster, Group
from slurmpod.environment.descriptions import all_sections, entry_section, section_in
from slurmpod.environment.environment import Environment
from slurmpod.reading.read import Reading
from slurmpod.resolve import resolve
from tests.pure.changes.comparing import between, environment, summary
from tests.sound_environment import sound_data

KEY = "arn:aws:kms:us-west-2:123456789012:key/12345678-1234-1234-1234-123456789012"


def group(name: str = "workers", **keys: Any) -> dict[str, Any]:
    instance_type = "ml.m5.xlarge"
    return {
        "name": name,
        "role": "worker",
        "instance_type": instance_type,
        "partition": "cpu",
    } | keys


def lustre(**keys: Any) -> dict[str, Any]:
    return {"storage": {"lustre": keys}}


@pytest.mark.parametrize("section", list(all_sections()), ids=lambda section: section.__name__)
def test_every_field_says_what_changing_it_does(section: type[Environment]) -> None:
    said = {
        name: sum(isinstance(each, Effect) for each in field.metadata)
        for name, field in section.model_fields.items()
    }
    assert said == dict.fromkeys(section.model_fields, 1)


@pytest.mark.parametrize("section", list(all_sections()), ids=lambda section: section.__name__)
def test_only_what_can_be_taken_out_says_what_that_does(section: type[Environment]) -> None:
    for field in section.model_fields.values():
        is_optional = not field.is_required() and field.default is None
        can_be_taken_out = is_optional or entry_section(field) or section_in(field)
        assert can_be_taken_out or not effect_of(field).removed


def test_a_value_that_is_taken_out_says_what_that_does() -> None:
    url = "https://aps-workspaces.us-west-2.amazonaws.com/workspaces/ws-1/api/v1/remote_write"
    (written,) = between(
        {"monitoring": {"observability": {}}},
        {"monitoring": {"observability": {"remote_write_url": url}}},
    )
    (taken_out,) = between(
        {"monitoring": {"observability": {"remote_write_url": url}}},
        {"monitoring": {"observability": {}}},
    )
    assert written.effect.kind is Kind.IN_PLACE
    assert taken_out.effect.kind is Kind.REFUSED
    assert "cannot unset a value" in taken_out.effect.meaning


def test_a_change_says_where_and_from_what_to_what() -> None:
    (change,) = between({}, {"network": {"zone": "us-west-2c", "vpc_cidr": "10.0.0.0/16"}})
    assert (change.path, change.new_path) == ("network.zone", ("network", "zone"))
    assert (change.old, change.new) == ("us-west-2b", "us-west-2c")
    assert change.effect.kind is Kind.REFUSED


def test_groups_are_told_apart_by_name_wherever_they_stand() -> None:
    one = {"cluster": {"groups": [group("a", count=1), group("b", count=2)]}}
    other = {"cluster": {"groups": [group("b", count=3), group("a", count=1)]}}
    (change,) = between(one, other)
    assert (change.path, change.new_path) == (
        "cluster.groups.b.count",
        ("cluster", "groups", 0, "count"),
    )
    assert change.is_harmless


def test_fewer_nodes_are_a_loss_and_more_are_none() -> None:
    few, many = ({"cluster": {"groups": [group(count=count)]}} for count in (2, 8))
    assert summary(between(few, many)) == [("cluster.groups.workers.count", Kind.IN_PLACE)]
    assert summary(between(many, few)) == [("cluster.groups.workers.count", Kind.LOSES)]


def test_a_group_that_goes_is_a_loss_and_one_that_comes_is_none() -> None:
    one = {"cluster": {"groups": [group("a")]}}
    two = {"cluster": {"groups": [group("a"), group("b")]}}
    assert summary(between(one, two)) == [("cluster.groups.b", Kind.IN_PLACE)]
    (gone,) = between(two, one)
    assert summary([gone]) == [("cluster.groups.b", Kind.LOSES)]
    assert (gone.old["name"], gone.new) == ("b", None)


@pytest.mark.parametrize("key", ["volume_kms_key_arn", "root_volume_kms_key_arn"])
def test_a_group_keeps_the_keys_of_its_volumes(key: str) -> None:
    ids = ("1234abcd-12ab-34cd-56ef-1234567890ab", "5678abcd-12ab-34cd-56ef-1234567890ab")
    keys = (f"arn:aws:kms:us-west-2:123456789012:key/{id_}" for id_ in ids)
    old, new = ({"cluster": {"groups": [group(**{key: each})]}} for each in keys)
    assert summary(between(old, new)) == [(f"cluster.groups.workers.{key}", Kind.REFUSED)]


@pytest.mark.parametrize(
    ("key", "old", "new", "kind"),
    [
        ("capacity_gib", 1200, 2400, Kind.IN_PLACE),
        ("capacity_gib", 2400, 1200, Kind.REFUSED),
        ("version", "2.10", "2.12", Kind.IN_PLACE),
        ("version", "2.12", "2.10", Kind.REFUSED),
        ("metadata_iops", 12000, 1500, Kind.REFUSED),
        ("metadata_iops", 6000, 0, Kind.REFUSED),
        ("metadata_iops", 0, 6000, Kind.IN_PLACE),
        ("efa", False, True, Kind.REPLACES),
        ("compression", "LZ4", "NONE", Kind.IN_PLACE),
        ("drive_cache", False, True, Kind.REPLACES),
        ("throughput_mbps", 4000, 8000, Kind.IN_PLACE),
        ("throughput_mbps", 8000, 4000, Kind.REFUSED),
    ],
)
def test_what_fsx_can_change(key: str, old: object, new: object, kind: Kind) -> None:
    found = between(lustre(**{key: old}), lustre(**{key: new}))
    assert summary(found) == [(f"storage.lustre.{key}", kind)]


@pytest.mark.parametrize(
    ("deployment_type", "kind"),
    [("PERSISTENT_2", Kind.REFUSED), ("PERSISTENT_1", Kind.IN_PLACE)],
)
def test_a_version_that_brings_a_metadata_configuration_comes_too_late(
    deployment_type: str, kind: Kind
) -> None:
    old, new = ({"deployment_type": deployment_type, "version": v} for v in ("2.12", "2.15"))
    assert summary(between(lustre(**old), lustre(**new))) == [("storage.lustre.version", kind)]


@pytest.mark.parametrize(("on_delete", "kind"), [("retain", Kind.REPLACES), ("delete", Kind.LOSES)])
def test_tags_of_backups_replace_a_lustre_file_system(on_delete: str, kind: Kind) -> None:
    def more(**keys: Any) -> dict[str, Any]:
        one = {"name": "more", "mount_path": "/more", "on_delete": on_delete, **keys}
        return {"storage": {"additional_lustre": [one]}}

    with_tags, without = more(backups={"copy_tags": True}), more(backups={"copy_tags": False})
    place = "storage.additional_lustre.more.backups"
    assert summary(between(without, with_tags)) == [(f"{place}.copy_tags", kind)]
    for one, other in ((more(), with_tags), (with_tags, more())):
        assert summary(between(one, other)) == [
            (place, Kind.IN_PLACE),
            (f"{place}.copy_tags", kind),
        ]
    assert summary(between(more(), without)) == [(place, Kind.IN_PLACE)]


def test_tags_of_backups_are_changed_in_place_on_openzfs() -> None:
    old, new = ({"storage": {"openzfs": {"backups": {"copy_tags": c}}}} for c in (False, True))
    assert [change.is_harmless for change in between(old, new)] == [True]


@pytest.mark.parametrize(
    "keys", [{"s3_uri": "s3://b-bucket"}, {"import_metadata_on_create": False}]
)
def test_a_link_to_a_bucket_cannot_be_replaced_in_one_step(keys: dict[str, Any]) -> None:
    repository = {"path": "/data", "s3_uri": "s3://a-bucket/data/"}
    old, new = (lustre(data_repositories=[each]) for each in (repository, {**repository, **keys}))
    (change,) = between(old, new)
    assert change.effect.kind is Kind.REFUSED


def test_another_existing_file_system_leaves_the_first_as_it_is() -> None:
    old, new = (
        lustre(existing={"id": f"fs-0123456789abcdef{number}", "mount_name": "fsx"})
        for number in (0, 1)
    )
    (change,) = between(old, new)
    assert "empty" not in change.effect.meaning
    assert "kept" in change.effect.meaning


def package(architecture: str, digit: str = "a") -> dict[str, Any]:
    url = f"https://example.com/enroot_{architecture}.deb"
    return {
        "name": "enroot",
        "architecture": architecture,
        "url": url,
        "sha256": digit * 64,
    }


def test_packages_of_one_name_are_told_apart_by_their_processors() -> None:
    arm, intel, newer = package("arm64"), package("x86_64"), package("x86_64", "b")
    one, other = ({"lifecycle": {"artefacts": each}} for each in ([arm, intel], [newer, arm]))
    (change,) = between(one, other)
    assert change.path == "lifecycle.artefacts.enroot.x86_64.sha256"
    assert change.new_path == ("lifecycle", "artefacts", 0, "sha256")


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("lifecycle", "containers", True),
        ("lifecycle", "artefacts", [package("arm64")]),
        ("access", "ssh_needs_job", True),
        ("storage", "scratch", {}),
    ],
)
def test_what_scripts_did_stays_on_nodes_that_run(section: str, key: str, value: object) -> None:
    wanted = {section: {key: value}}
    (on,), (off,) = between({}, wanted), between(wanted, {})
    assert "slurmpod lifecycle run" in on.effect.meaning
    assert "until they are replaced" in off.effect.meaning


def test_root_squash_that_is_taken_out_stays() -> None:
    old = lustre(root_squash={"user": "65534:65534", "except_nids": ["10.0.128.5@tcp"]})
    (change,) = between(old, lustre())
    assert "stays" in change.effect.meaning


def existing_network(**keys: Any) -> dict[str, Any]:
    subnets = [{"id": "subnet-0a1b2c3d", "zone": "us-west-2b"}]
    existing = {"vpc_id": "vpc-0a1b2c3d", "subnets": subnets, "security_group_ids": ["sg-0a1b2c3d"]}
    return {"network": {"zone": "us-west-2b", "existing": {**existing, **keys}}}


@pytest.mark.parametrize(
    "keys",
    [
        {"security_group_ids": ["sg-1a1b2c3d"]},
        {"subnets": [{"id": "subnet-1a1b2c3d", "zone": "us-west-2b"}]},
    ],
)
def test_file_systems_keep_their_subnet_and_security_groups(keys: dict[str, Any]) -> None:
    (change,) = between(existing_network(), existing_network(**keys))
    assert change.effect.kind is Kind.REFUSED
    assert "file systems" in change.effect.meaning


def test_a_subnet_more_or_less_in_another_zone_is_no_loss() -> None:
    one = {"id": "subnet-0a1b2c3d", "zone": "us-west-2b"}
    other = {"id": "subnet-1a1b2c3d", "zone": "us-west-2c"}
    more = existing_network(subnets=[one, other])
    for old, new in ((existing_network(), more), (more, existing_network())):
        (change,) = between(old, new)
        assert change.is_harmless


@pytest.mark.parametrize("on_delete", ["retain", "delete"])
def test_replacing_a_file_system_tells_what_becomes_of_the_data(on_delete: str) -> None:
    old, new = ({"efa": efa, "on_delete": on_delete} for efa in (False, True))
    (change,) = between(lustre(**old), lustre(**new))
    assert ("kept" in change.effect.meaning) == (on_delete == "retain")
    assert not change.is_harmless


@pytest.mark.parametrize(("on_delete", "word"), [("retain", "kept"), ("delete", "deleted")])
def test_a_file_system_that_is_taken_out_is_kept_unless_said_otherwise(
    on_delete: str, word: str
) -> None:
    (change,) = between(lustre(on_delete=on_delete), {"storage": {"lustre": None}})
    assert change.path == "storage.lustre"
    assert word in change.effect.meaning
    more = {"name": "more", "mount_path": "/more", "on_delete": on_delete}
    (change,) = between({"storage": {"additional_lustre": [more]}}, {"storage": {}})
    assert (change.path, change.new_path) == (
        "storage.additional_lustre.more",
        ("storage", "additional_lustre"),
    )
    assert word in change.effect.meaning


def test_a_record_of_an_earlier_version_may_know_fewer_and_other_fields() -> None:
    deployed = environment().model_dump(mode="json")
    del deployed["slurm"]["qos"]
    deployed["slurm"]["gone"] = 5
    del deployed["suppress"]
    del deployed["cluster"]["provisioning"]
    del deployed["storage"]["lustre"]["storage_type"]
    assert summary(list(changes(deployed, resolve(Reading(environment()))))) == []


@pytest.mark.parametrize("gone", [{}, {"gone": 5}], ids=["readable", "with a field of its own"])
def test_a_record_with_all_defaults_as_earlier_versions_wrote_it_reads_the_same(
    gone: dict[str, int],
) -> None:
    packages = {"lifecycle": {"artefacts": [package("x86_64")]}}
    written = Environment.model_validate({**sound_data(), **packages}, strict=False)
    with_defaults = {**written.model_dump(mode="json"), "files": {}, **gone}
    as_written = {**written.model_dump(mode="json", exclude_unset=True), "files": {}, **gone}
    for record in (with_defaults, as_written):
        assert changes(record, resolve(Reading(written))) == ()
        wanted = resolve(Reading(environment(**packages, protected=True)))
        assert [each.path for each in changes(record, wanted)] == ["protected"]


def test_an_edition_more_shows_the_defaults_that_become_other_ones() -> None:
    found = {change.path: change for change in between({}, {"edition": 2026})}
    assert found.keys() == {"edition", "lifecycle.mode", "cluster.provisioning"}
    assert found["edition"].effect.kind is Kind.IN_PLACE
    mode = found["lifecycle.mode"]
    assert (mode.old, mode.new) == ("customer", "extended")
    assert between({"edition": 2026}, {"edition": 2026}) == []


def test_an_edition_changes_nothing_where_the_file_has_said_the_same() -> None:
    cluster = {**sound_data()["cluster"], "provisioning": "continuous"}
    moved = {"lifecycle": {"mode": "extended"}, "cluster": cluster}
    assert summary(between(moved, {"edition": 2026})) == [("edition", Kind.IN_PLACE)]


def test_a_zone_more_that_moves_the_others_subnets_is_refused() -> None:
    one = {"network": {"zone": "usw2-az1"}}
    two = {"network": {"zone": "usw2-az1", "other_zones": [{"zone": "usw2-az2"}]}}
    assert summary(between(one, two)) == [
        ("network.private_subnet_cidr", Kind.REFUSED),
        ("network.other_zones.usw2-az2", Kind.IN_PLACE),
    ]


def test_a_zone_more_is_welcome_where_the_ranges_are_written() -> None:
    ranges = {"zone": "usw2-az1", "private_subnet_cidr": "10.0.128.0/18"}
    more = [{"zone": "usw2-az2", "private_subnet_cidr": "10.0.192.0/18"}]
    found = between({"network": ranges}, {"network": {**ranges, "other_zones": more}})
    assert summary(found) == [("network.other_zones.usw2-az2", Kind.IN_PLACE)]


class TestRecords:
    @pytest.mark.parametrize(
        ("key", "old", "new", "kind"),
        [
            ("instance_class", "db.t4g.medium", "db.m7g.large", Kind.IN_PLACE),
            ("engine_version", "10.11", "11.4", Kind.IN_PLACE),
            ("engine_version", "11.4", "10.11", Kind.REFUSED),
            ("storage_gib", 50, 100, Kind.IN_PLACE),
            ("storage_gib", 100, 50, Kind.REFUSED),
            ("backup_retention_days", 7, 14, Kind.IN_PLACE),
            ("backup_retention_days", 14, 7, Kind.LOSES),
            ("max_storage_gib", 400, 200, Kind.IN_PLACE),
            ("kms_key_arn", None, KEY, Kind.REFUSED),
            ("on_delete", "retain", "delete", Kind.IN_PLACE),
        ],
    )
    def test_what_rds_changes_refuses_and_loses(
        self, key: str, old: Any, new: Any, kind: Kind
    ) -> None:
        before, after = ({"slurm": {"rds": {key: value}}} for value in (old, new))
        assert summary(between(before, after)) == [(f"slurm.rds.{key}", kind)]

    def test_another_database_has_other_records(self) -> None:
        server: dict[str, Any] = {"slurm": {"rds": {}}}
        assert summary(between({}, server)) == [("slurm.rds", Kind.LOSES)]
        (change,) = between(server, {})
        assert (change.effect.kind, "until you delete its stack" in change.effect.meaning) == (
            Kind.LOSES,
            True,
        )

    def test_another_secret_of_the_same_server_loses_nothing(self) -> None:
        arn = "arn:aws:secretsmanager:us-west-2:123456789012:secret:slurmdbd-{}"
        before, after = (
            {"slurm": {"accounting_database": {"endpoint": "db", "secret_arn": arn.format(name)}}}
            for name in ("AbCdEf", "GhIjKl")
        )
        (change,) = between(before, after)
        assert change.is_harmless


def groups(*groups: dict[str, Any]) -> dict[str, Any]:
    return {"cluster": {"groups": list(groups)}}


IN_PLACE = Kind.IN_PLACE
WITH_AND_WITHOUT_CLUSTER = [
    (groups(group(zone="us-west-2b")), groups(group(zone="us-west-2c")), Kind.REFUSED, IN_PLACE),
    (groups(group(count=2)), groups(group(count=1)), Kind.LOSES, IN_PLACE),
    (groups(group(), group("b")), groups(group()), Kind.LOSES, IN_PLACE),
    ({}, {"lifecycle": {"motd": True}}, Kind.NEW_NODES, IN_PLACE),
    (lustre(), lustre(efa=True), Kind.REPLACES, Kind.REPLACES),
    (lustre(capacity_gib=2400), lustre(capacity_gib=1200), Kind.REFUSED, Kind.REFUSED),
    ({}, {"network": {"zone": "us-west-2c"}}, Kind.REFUSED, Kind.REFUSED),
]


@pytest.mark.parametrize(("old", "new", "with_cluster", "without"), WITH_AND_WITHOUT_CLUSTER)
def test_without_a_cluster_nothing_of_it_is_in_the_way(
    old: dict[str, Any], new: dict[str, Any], with_cluster: Kind, without: Kind
) -> None:
    deployed, wanted = (resolve(Reading(environment(**each))) for each in (old, new))
    recorded = read_record(deployment_record.record(deployed))
    for has_cluster, kind in ((True, with_cluster), (False, without)):
        found = changes(recorded, wanted, has_cluster=has_cluster)
        assert {each.effect.kind for each in found} == {kind}


@pytest.mark.parametrize("section", [Cluster, Group], ids=lambda section: section.__name__)
def test_whatever_a_cluster_refuses_or_loses_is_its_own(section: type[Section]) -> None:
    effects = [effect_of(field) for field in section.model_fields.values()]
    others = [other for each in effects for other in (each.less, each.removed) if other]
    harmful = [each for each in (*effects, *others) if each.kind is not Kind.IN_PLACE]
    assert harmful
    assert [each.meaning for each in harmful if not each.of_cluster] == []
