"""A model behind a SageMaker real-time endpoint, with a role that can read only this model."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import (
    RemovalPolicy,
    aws_applicationautoscaling,
    aws_iam,
    aws_logs,
    aws_sagemaker,
)
from constructs import Construct

from slurmpod.environment.service_types import has_own_disks
from slurmpod.environment.services import Scaling
from slurmpod.permissions.endpoint import endpoint_grants, endpoint_scope
from slurmpod.resolve import Resolved, ResolvedEndpoint
from slurmpod_cdk.policy_document import policy_document

VARIANT = "model"
"""The only production variant, which gets all requests."""

LOG_RETENTION_DAYS = 90
SCALE_OUT_SECONDS = 60
SCALE_IN_SECONDS = 300
"""Cooldowns: scale out soon, scale in once requests stay low."""

VOLUME_KEY = "VolumeKey"
LOG_KEY = "LogKey"
MODEL_FOLDER = "ModelFolder"
"""Construct ids that mark the user's keys and a model in many files, which are not resources:
reviews look for them."""

VariantProperty = aws_sagemaker.CfnEndpointConfig.ProductionVariantProperty


class ModelEndpoint(Construct):
    """Model, endpoint configuration, endpoint and its scaling.

    The endpoint has a fixed name, by which it is invoked. Model and configuration are immutable:
    CloudFormation creates new ones with generated names, and the endpoint switches to them.
    """

    def __init__(
        self,
        scope: Construct,
        id_: str,
        *,
        resolved: Resolved,
        endpoint: ResolvedEndpoint,
        subnet_ids: Sequence[str],
        security_group_ids: Sequence[str],
    ) -> None:
        super().__init__(scope, id_)
        self._endpoint = endpoint
        role = self._role(resolved, subnet_ids, security_group_ids)
        model = self._model(role, subnet_ids, security_group_ids)
        configuration = self._configuration(model)
        served = aws_sagemaker.CfnEndpoint(
            self,
            "Endpoint",
            endpoint_name=endpoint.name,
            endpoint_config_name=configuration.attr_endpoint_config_name,
            retain_all_variant_properties=True if endpoint.settings.scaling else None,
        )
        served.add_resource_dependency(self._log())
        if endpoint.settings.scaling:
            self._scale(served, endpoint.settings.scaling)
        self.name = served.attr_endpoint_name
        self.arn = served.ref

    def _role(
        self, resolved: Resolved, subnet_ids: Sequence[str], security_group_ids: Sequence[str]
    ) -> aws_iam.Role:
        scope = endpoint_scope(
            resolved,
            self._endpoint,
            subnet_ids=tuple(subnet_ids),
            security_group_ids=tuple(security_group_ids),
        )
        return aws_iam.Role(
            self,
            "Role",
            description=f"Endpoint {self._endpoint.name}: its model, its image and its log",
            assumed_by=aws_iam.ServicePrincipal("sagemaker.amazonaws.com"),
            inline_policies={"Endpoint": policy_document(endpoint_grants(scope))},
        )

    def _model(
        self, role: aws_iam.Role, subnet_ids: Sequence[str], security_group_ids: Sequence[str]
    ) -> aws_sagemaker.CfnModel:
        settings = self._endpoint.settings
        if self._endpoint.is_folder:
            Construct(self, MODEL_FOLDER)
        model = aws_sagemaker.CfnModel(
            self,
            "Model",
            execution_role_arn=role.role_arn,
            enable_network_isolation=settings.network_isolation,
            primary_container=aws_sagemaker.CfnModel.ContainerDefinitionProperty(
                image=settings.image,
                model_data_url=None if self._endpoint.is_folder else settings.model_data,
                model_data_source=_folder(settings.model_data)
                if self._endpoint.is_folder
                else None,
                environment=dict(settings.environment) or None,
            ),
            vpc_config=aws_sagemaker.CfnModel.VpcConfigProperty(
                subnets=list(subnet_ids), security_group_ids=list(security_group_ids)
            ),
        )
        model.node.add_dependency(role)
        return model

    def _configuration(self, model: aws_sagemaker.CfnModel) -> aws_sagemaker.CfnEndpointConfig:
        settings = self._endpoint.settings
        key = None if has_own_disks(settings.instance_type) else settings.kms_key_arn
        if key:
            Construct(self, VOLUME_KEY)
        return aws_sagemaker.CfnEndpointConfig(
            self,
            "Configuration",
            kms_key_id=key,
            production_variants=[
                VariantProperty(
                    variant_name=VARIANT,
                    model_name=model.attr_model_name,
                    instance_type=settings.instance_type,
                    initial_instance_count=settings.instances,
                    initial_variant_weight=1,
                    container_startup_health_check_timeout_in_seconds=(
                        settings.startup_timeout_seconds
                    ),
                    model_data_download_timeout_in_seconds=settings.startup_timeout_seconds,
                )
            ],
        )

    def _log(self) -> aws_logs.CfnLogGroup:
        """Make the log group: one created by SageMaker would keep everything forever."""
        key = self._endpoint.settings.kms_key_arn
        if key:
            Construct(self, LOG_KEY)
        group = aws_logs.CfnLogGroup(
            self,
            "Log",
            log_group_name=self._endpoint.log_group,
            retention_in_days=LOG_RETENTION_DAYS,
            kms_key_id=key,
        )
        group.apply_removal_policy(RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE)
        return group

    def _scale(self, served: aws_sagemaker.CfnEndpoint, scaling: Scaling) -> None:
        target = aws_applicationautoscaling.CfnScalableTarget(
            self,
            "Instances",
            service_namespace="sagemaker",
            resource_id=f"endpoint/{served.attr_endpoint_name}/variant/{VARIANT}",
            scalable_dimension="sagemaker:variant:DesiredInstanceCount",
            min_capacity=self._endpoint.settings.instances,
            max_capacity=scaling.max_instances,
        )
        policy = aws_applicationautoscaling.CfnScalingPolicy
        policy(
            self,
            "Invocations",
            policy_name=f"{self._endpoint.name}-invocations",
            policy_type="TargetTrackingScaling",
            scaling_target_id=target.ref,
            target_tracking_scaling_policy_configuration=(
                policy.TargetTrackingScalingPolicyConfigurationProperty(
                    target_value=scaling.invocations_per_instance,
                    predefined_metric_specification=policy.PredefinedMetricSpecificationProperty(
                        predefined_metric_type="SageMakerVariantInvocationsPerInstance"
                    ),
                    scale_out_cooldown=SCALE_OUT_SECONDS,
                    scale_in_cooldown=SCALE_IN_SECONDS,
                )
            ),
        )


def _folder(uri: str) -> aws_sagemaker.CfnModel.ModelDataSourceProperty:
    return aws_sagemaker.CfnModel.ModelDataSourceProperty(
        s3_data_source=aws_sagemaker.CfnModel.S3DataSourceProperty(
            s3_uri=uri, s3_data_type="S3Prefix", compression_type="None"
        )
    )
