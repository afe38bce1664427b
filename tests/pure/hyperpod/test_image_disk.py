"""What a profile's image has on a node's disk, and what makes the rehearsal's image that one."""

from __future__ import annotations

import pytest

from slurmpod.platform_profiles.loading import load
from slurmpod.platform_profiles.profile import Image
from slurmpod.rehearsal.hyperpod.first_minutes import what_differs
from slurmpod.rehearsal.hyperpod.image_disk import environment_file, files_of

OLDER = "ami-2026-01"
"""The profile whose image is the rehearsal's own: it has nothing beside what is baked."""


def image_of(*profiles: str) -> Image:
    return load(profiles).profile.image


def unit(name: str, *profiles: str) -> str:
    file = files_of(image_of(*profiles))[f"/etc/systemd/system/{name}.service"]
    assert file.mode == 0o644
    return file.content.decode()


def test_units_are_what_the_profile_says() -> None:
    text = unit("slurmd")
    assert text.startswith("[Unit]\nDescription=Slurm node daemon\n")
    assert "\n[Service]\nEnvironmentFile=-/opt/slurm/etc/default/slurmd\n" in text
    assert "\nExecStart=/opt/slurm/sbin/slurmd -D $SLURMD_OPTIONS\n" in text
    assert text.endswith("\n[Install]\nWantedBy=multi-user.target\n")


def test_a_variant_changes_one_line_of_a_unit() -> None:
    ours = unit("slurmd").replace("/opt/slurm/etc/default", "/etc/default")
    assert unit("slurmd", "options-in-etc") == ours


def test_a_key_may_be_given_several_times() -> None:
    image = image_of()
    image.units["slurmd"]["Service"]["ExecStartPre"] = "/bin/true\n/bin/false"
    text = files_of(image)["/etc/systemd/system/slurmd.service"].content.decode()
    assert "ExecStartPre=/bin/true\nExecStartPre=/bin/false\n" in text


def test_files_of_the_image_lie_beside_them() -> None:
    assert "/opt/slurm/etc/slurmdbd.conf.template" in files_of(image_of())


@pytest.mark.parametrize(
    ("profiles", "path"),
    [((), "/opt/slurm/etc/default/slurmd"), (("options-in-etc",), "/etc/default/slurmd")],
)
def test_hyperpod_writes_options_where_the_unit_reads_them(
    profiles: tuple[str, ...], path: str
) -> None:
    assert environment_file(image_of(*profiles).units["slurmd"]) == path


def test_the_older_image_is_that_of_the_rehearsal() -> None:
    assert [*what_differs(image_of(OLDER))] == []


@pytest.mark.parametrize(
    ("profile", "does"),
    [
        ("no-mariadb", ["dpkg --purge --force-depends mariadb-server "]),
        ("pam-slurm-adopt-there", ["install -m 644 /usr/local/lib/pam_slurm_adopt.so"]),
        ("docker-there", ["systemctl enable --quiet --now docker"]),
        ("own-disk", ["mount /opt/sagemaker"]),
        (
            "ami-2026-07",
            [
                ">/usr/bin/enroot",
                "required %s",
                "cp -a /opt/slurm-26.05 /opt/slurm-24.11",
                "cp -a /opt/slurm-26.05 /opt/slurm-25.11",
                "ln -sfn slurm-25.11 /opt/slurm",
                "rm -r /opt/slurm-26.05",
            ],
        ),
    ],
)
def test_what_a_profile_has_otherwise_is_made(profile: str, does: list[str]) -> None:
    scripts = [*what_differs(image_of(OLDER, profile))]
    assert len(scripts) == len(does)
    assert all(words in script for words, script in zip(does, scripts, strict=True))


def test_slurm_may_lie_in_one_plain_folder() -> None:
    image = image_of(OLDER).model_copy(update={"slurm_trees": ("slurm",)})
    assert [*what_differs(image)] == [
        "rm -f /opt/slurm && cp -a /opt/slurm-24.11 /opt/slurm",
        "rm -r /opt/slurm-24.11",
    ]


def test_a_user_gets_the_number_of_the_profile() -> None:
    image = image_of(OLDER).model_copy(update={"users": {"ubuntu": 1001}})
    (script,) = what_differs(image)
    assert "usermod --uid 1001 ubuntu" in script
