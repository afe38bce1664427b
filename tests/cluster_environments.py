"""Environments whose clusters use all options, in the three lifecycle modes."""

from __future__ import annotations

_KEY = "arn:aws:kms:us-west-2:123456789012:key/{}-1234-1234-1234-123456789012"

EXTENDED = """\
name: full
account: "123456789012"
region: us-west-2
tags: {team: ml}
network:
  zone: usw2-az2
  other_zones: [{zone: usw2-az1}]
  nat: per_zone
storage:
  lustre: {capacity_gib: 2400}
  openzfs: {}
  s3_mounts:
    - {bucket: my-images, mount_path: /images}
    - bucket: my-results
      prefix: runs/
      mount_path: /results
      read_only: false
      kms_key_arn: KEY_3
cluster:
  provisioning: continuous
  node_recovery: Automatic
  groups:
    - name: controller
      role: controller
      instance_type: ml.m5.xlarge
      capacity: on_demand
      root_volume_kms_key_arn: KEY_1
    - {name: login, role: login, instance_type: ml.m5.large, image_id: ami-0123456789abcdef0}
    - name: p5
      role: worker
      instance_type: ml.p5.48xlarge
      count: 8
      min_count: 4
      partition: p5
      threads_per_core: 1
      network_interface: efa-only
      training_plan_arn: arn:aws:sagemaker:us-west-2:123456789012:training-plan/p5-june
      volume_gib: 500
      volume_kms_key_arn: KEY_2
      deep_health_checks: [InstanceStress, InstanceConnectivity]
      scheduled_update:
        schedule: cron(0 3 ? * SUN *)
        rollout:
          batch_count: 2
          rollback_batch_percent: 50
          wait_seconds: 600
          rollback_alarms: [idle-gpus, hot-gpus]
    - name: flexible
      role: worker
      instance_types: [ml.g5.12xlarge, ml.g5.24xlarge]
      count: 0
      partition: g5
      zone: usw2-az1
      capacity: spot
      auto_patch:
        strategy: WhenIdle
        rollout: {batch_percent: 25}
slurm:
  accounting_database:
    endpoint: slurm.abcdefghijkl.us-west-2.rds.amazonaws.com
    port: 3307
    secret_arn: arn:aws:secretsmanager:us-west-2:123456789012:secret:slurmdbd-AbCdEf
    name: slurm_acct_db
lifecycle: {mode: extended}
"""
for _digit in "123":
    EXTENDED = EXTENDED.replace(f"KEY_{_digit}", _KEY.format(_digit * 8))

_SMALL_GROUPS = """\
cluster:
  groups:
    - {name: controller, role: controller, instance_type: ml.m5.large%s}
    - {name: workers, role: worker, instance_type: ml.m5.xlarge, count: 2, partition: cpu}
"""

_HEAD = """\
name: small
account: "123456789012"
region: us-west-2
network: {zone: usw2-az2}
"""

MANAGED = f"""\
{_HEAD}{_SMALL_GROUPS % ""}lifecycle: {{mode: managed}}
slurm: {{config_strategy: Merge}}
"""

MULTI_HEAD = f"""\
{_HEAD}{_SMALL_GROUPS % ", count: 2"}slurm:
  accounting_database:
    endpoint: slurm.abcdefghijkl.us-west-2.rds.amazonaws.com
    secret_arn: arn:aws:secretsmanager:us-west-2:123456789012:secret:slurmdbd-AbCdEf
  multi_head:
    sns_topic_arn: arn:aws:sns:us-west-2:123456789012:slurm-failover
"""
