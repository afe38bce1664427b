"""Templates as people write them: custom resources made by functions, nested stacks, YAML."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.cloud.embedded_stacks import Outcome, Stacks, running_stacks


@pytest.fixture(scope="module")
def stacks() -> Iterator[Stacks]:
    yield from running_stacks()


ROLE = """
  Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: 2012-10-17
        Statement:
          - {Effect: Allow, Principal: {Service: lambda.amazonaws.com}, Action: sts:AssumeRole}
      ManagedPolicyArns:
        - arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole
      Policies:
        - PolicyName: see
          PolicyDocument:
            Version: 2012-10-17
            Statement: {Effect: Allow, Action: "ec2:DescribeVpcs", Resource: "*"}
"""

INLINE = f"""
Parameters:
  Size: {{Type: Number, Default: 3}}
Resources:{ROLE}
  Python:
    Type: AWS::Lambda::Function
    Properties:
      Runtime: python3.12
      Handler: index.handler
      Role: !GetAtt Role.Arn
      Timeout: 60
      Environment: {{Variables: {{LEVEL: 7}}}}
      Code:
        ZipFile: |
          import os, boto3, cfnresponse
          def handler(event, context):
              given = event["ResourceProperties"]
              print(event["RequestType"], given["Size"], given["Flag"], os.environ["LEVEL"])
              seen = len(boto3.client("ec2").describe_vpcs()["Vpcs"])
              try:
                  boto3.client("s3").list_buckets()
              except Exception as error:
                  refusal = error.response["Error"]["Code"]
              if given["Size"] == "13":
                  cfnresponse.send(event, context, cfnresponse.FAILED, {{}}, reason="unlucky")
                  return
              data = {{"Seen": seen, "Refusal": refusal}}
              cfnresponse.send(event, context, cfnresponse.SUCCESS, data, "id-" + given["Size"])
  Node:
    Type: AWS::Lambda::Function
    Properties:
      Runtime: nodejs22.x
      Handler: index.handler
      Role: !GetAtt Role.Arn
      Timeout: 60
      Code:
        ZipFile: |
          const response = require("cfn-response");
          exports.handler = (event, context) => {{
            const data = {{ Greeting: `Hello ${{event.ResourceProperties.Name}}` }};
            response.send(event, context, response.SUCCESS, data);
          }};
  Made:
    Type: Custom::Made
    Properties: {{ServiceToken: !GetAtt Python.Arn, Size: !Ref Size, Flag: true}}
  Greeted:
    Type: AWS::CloudFormation::CustomResource
    Properties: {{ServiceToken: !GetAtt Node.Arn, Name: !GetAtt Made.Refusal}}
Outputs:
  Id: {{Value: !Ref Made}}
  Seen: {{Value: !GetAtt Made.Seen}}
  Greeting: {{Value: !GetAtt Greeted.Greeting}}
  Log: {{Value: !Sub "/aws/lambda/${{Python}}"}}
"""


def printed(stacks: Stacks, group: str) -> list[str]:
    events = stacks.clients.logs.filter_log_events(logGroupName=group)["events"]
    marks = ("START", "END", "REPORT")
    return [each["message"] for each in events if not each["message"].startswith(marks)]


def test_functions_make_change_and_delete_resources_with_the_rights_of_their_role(
    stacks: Stacks,
) -> None:
    made = stacks.deploy_text("inline", INLINE)
    assert made.status == "CREATE_COMPLETE", made.reasons
    log = made.outputs.pop("Log")
    assert made.outputs == {"Id": "id-3", "Seen": "1", "Greeting": "Hello AccessDenied"}

    failed = stacks.deploy_text("inline", INLINE, Size="13")
    assert failed.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "Message returned: unlucky" in failed.reasons

    changed = stacks.deploy_text("inline", INLINE, Size="4")
    assert changed.outputs["Id"] == "id-4"
    assert stacks.delete("inline").status == "DELETE_COMPLETE"

    asked = [line.removesuffix(" true 7") for line in printed(stacks, log)]
    assert asked == [
        "Create 3",
        *("Update 13", "Update 3"),
        *("Update 4", "Delete 3"),
        "Delete 4",
    ]
    assert stacks.clients.s3.list_buckets()["Buckets"] == []


ARCHIVED = f"""
Parameters:
  Bucket: {{Type: String}}
Resources:{ROLE}
  Silent:
    Type: AWS::Lambda::Function
    Properties:
      Runtime: python3.12
      Handler: app.main.answer
      Role: !GetAtt Role.Arn
      Timeout: 1
      Code: {{S3Bucket: !Ref Bucket, S3Key: code.zip}}
  Asked:
    Type: Custom::Asked
    Properties: {{ServiceToken: !GetAtt Silent.Arn}}
"""
SILENT = "import time\ndef answer(event, context):\n    print('begun')\n    time.sleep(60)\n"


def put_archive(stacks: Stacks, bucket: str, **files: str) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/") + ".py", text)
    s3: Any = stacks.clients.s3
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "us-west-2"})
    s3.put_object(Bucket=bucket, Key="code.zip", Body=content.getvalue())


def test_a_function_that_does_not_answer_in_its_time_fails_the_stack(stacks: Stacks) -> None:
    put_archive(stacks, "code", app__main=SILENT)

    failed = stacks.deploy_text("silent", ARCHIVED, Bucket="code")

    assert failed.status == "ROLLBACK_FAILED"
    assert "did not receive a response" in failed.reasons
    assert "Task timed out after 1.00 seconds" in failed.reasons
    (group,) = [
        each["logGroupName"]
        for each in stacks.clients.logs.describe_log_groups()["logGroups"]
        if "Silent" in each["logGroupName"]
    ]
    assert printed(stacks, group)[0] == "begun"


def test_people_invoke_functions_and_get_results_and_errors(stacks: Stacks) -> None:
    role = stacks.deploy_text(
        "role", f"Resources:{ROLE}Outputs: {{Arn: {{Value: !GetAtt Role.Arn}}}}"
    )
    code = "import json\ndef answer(event, context):\n    return {'half': event['whole'] / 2}\n"
    put_archive(stacks, "halves", main=code)
    api = stacks.clients.service("lambda")
    api.create_function(
        FunctionName="halve",
        Runtime="python3.12",
        Role=role.outputs["Arn"],
        Handler="main.answer",
        Timeout=60,
        Code={"S3Bucket": "halves", "S3Key": "code.zip"},
    )

    result = api.invoke(FunctionName="halve", Payload=b'{"whole": 5}')
    assert json.loads(result["Payload"].read()) == {"half": 2.5}
    error = api.invoke(FunctionName="halve", Payload=b'{"whole": "a"}')
    assert "FunctionError" in error
    assert json.loads(error["Payload"].read())["errorType"] == "TypeError"


CHILD = """
Parameters:
  Names: {Type: CommaDelimitedList}
  Kept: {Type: Number}
Transform: AWS::LanguageExtensions
Resources:
  Fn::ForEach::Groups:
    - Name
    - !Ref Names
    - Group${Name}:
        Type: AWS::Logs::LogGroup
        Properties: {LogGroupName: !Sub "${AWS::StackName}-${Name}", RetentionInDays: !Ref Kept}
Outputs:
  Count: {Value: {"Fn::Length": !Ref Names}}
  First: {Value: !Ref Groupa}
"""
PARENT = """
Parameters:
  Kept: {Type: Number, Default: 7}
  Which: {Type: CommaDelimitedList, Default: "a, b"}
Resources:
  Child:
    Type: AWS::CloudFormation::Stack
    Properties:
      TemplateURL: !Sub https://templates.s3.${AWS::Region}.amazonaws.com/child.yaml
      Parameters: {Names: !Ref Which, Kept: !Ref Kept}
  Note:
    Type: AWS::SSM::Parameter
    Properties: {Name: /note, Type: String, Value: !GetAtt Child.Outputs.First}
Outputs:
  Count: {Value: !GetAtt Child.Outputs.Count}
"""


def kept_days(stacks: Stacks) -> dict[str, int]:
    groups = stacks.clients.logs.describe_log_groups(logGroupNamePrefix="outer-Child")["logGroups"]
    return {each["logGroupName"].rpartition("-")[2]: each["retentionInDays"] for each in groups}


def test_nested_stacks_live_and_change_and_end_with_their_parent(stacks: Stacks) -> None:
    s3: Any = stacks.clients.s3
    place = {"CreateBucketConfiguration": {"LocationConstraint": "us-west-2"}}
    s3.create_bucket(Bucket="templates", **place)
    s3.put_object(Bucket="templates", Key="child.yaml", Body=CHILD.encode())

    made = stacks.deploy_text("outer", PARENT)
    assert made.status == "CREATE_COMPLETE", made.reasons
    assert made.outputs == {"Count": "2"}
    assert kept_days(stacks) == {"a": 7, "b": 7}
    api = stacks.clients.service("cloudformation")
    (child,) = api.describe_stacks(StackName=made.ids["Child"])["Stacks"]
    outer = api.describe_stacks(StackName="outer")["Stacks"][0]["StackId"]
    assert (child["ParentId"], child["RootId"]) == (outer, outer)

    assert stacks.deploy_text("outer", PARENT, Kept="14").status == "UPDATE_COMPLETE"
    assert kept_days(stacks) == {"a": 14, "b": 14}
    again = CHILD.replace("!Ref Kept", "30").encode()
    s3.put_object(Bucket="templates", Key="child.yaml", Body=again)
    assert stacks.deploy_text("outer", PARENT, Kept="14").status == "UPDATE_COMPLETE"
    assert kept_days(stacks) == {"a": 30, "b": 30}
    failed = stacks.deploy_text("outer", PARENT, Which="b")
    assert failed.status == "UPDATE_ROLLBACK_COMPLETE"
    assert "Unresolved resource dependencies [Groupa]" in failed.reasons
    assert kept_days(stacks) == {"a": 30, "b": 30}

    assert stacks.delete("outer").status == "DELETE_COMPLETE"
    assert kept_days(stacks) == {}


TAGGED = """
Resources:
  Child: {Type: AWS::CloudFormation::Stack, Properties: {TemplateURL: PLACE}}
  Logs: {Type: AWS::Logs::LogGroup, Properties: {RetentionInDays: DAYS}}
"""


def tags_of_stack_child_and_logs(stacks: Stacks, ids: dict[str, str]) -> list[dict[str, str]]:
    api, logs = stacks.clients.service("cloudformation"), stacks.clients.logs
    described = [
        api.describe_stacks(StackName=name)["Stacks"][0] for name in ("tagged", ids["Child"])
    ]
    group = logs.describe_log_groups(logGroupNamePrefix=ids["Logs"])["logGroups"][0]
    return [
        *({tag["Key"]: tag["Value"] for tag in stack.get("Tags", [])} for stack in described),
        logs.list_tags_for_resource(resourceArn=group["logGroupArn"])["tags"],
    ]


def test_tags_and_role_stay_when_an_update_does_not_mention_them(stacks: Stacks) -> None:
    api, s3 = stacks.clients.service("cloudformation"), stacks.clients.s3
    place: Any = {"CreateBucketConfiguration": {"LocationConstraint": "us-west-2"}}
    s3.create_bucket(Bucket="grandchildren", **place)
    grandchild = b"{Resources: {Logs: {Type: AWS::Logs::LogGroup}}}"
    s3.put_object(Bucket="grandchildren", Key="plain.yaml", Body=grandchild)
    body = TAGGED.replace("PLACE", "https://s3.us-west-2.amazonaws.com/grandchildren/plain.yaml")
    role = "arn:aws:iam::111122223333:role/deploys"

    def outcome(days: int, operation: Any = api.update_stack, **given: Any) -> Outcome:
        operation(StackName="tagged", TemplateBody=body.replace("DAYS", str(days)), **given)
        return stacks.outcome("tagged")

    tags = [{"Key": "team", "Value": "ml"}]
    made = outcome(1, api.create_stack, Tags=tags, RoleARN=role)
    assert tags_of_stack_child_and_logs(stacks, made.ids) == [{"team": "ml"}] * 3
    assert outcome(3).status == "UPDATE_COMPLETE"
    assert tags_of_stack_child_and_logs(stacks, made.ids) == [{"team": "ml"}] * 3

    outcome(5, api.create_change_set, ChangeSetName="c")
    api.execute_change_set(StackName="tagged", ChangeSetName="c")
    assert stacks.outcome("tagged").status == "UPDATE_COMPLETE"
    assert tags_of_stack_child_and_logs(stacks, made.ids) == [{"team": "ml"}] * 3
    assert api.describe_stacks(StackName="tagged")["Stacks"][0]["RoleARN"] == role

    assert outcome(5, Tags=[]).status == "UPDATE_COMPLETE"
    assert tags_of_stack_child_and_logs(stacks, made.ids) == [{}] * 3


DIRECT = """
Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.0.0.0/16, EnableDnsSupport: "true"}}
  Subnet:
    Type: AWS::EC2::Subnet
    Properties: {VpcId: !Ref Vpc, CidrBlock: !Select [1, !Cidr [!GetAtt Vpc.CidrBlock, 4, 8]]}
  Group:
    Type: AWS::EC2::SecurityGroup
    Properties: {VpcId: !Ref Vpc, GroupDescription: nodes}
  Everywhere:
    Type: AWS::EC2::SecurityGroupEgress
    Properties: {GroupId: !Ref Group, IpProtocol: -1, FromPort: -1, ToPort: -1, CidrIp: 0.0.0.0/0}
  Within:
    Type: AWS::EC2::SecurityGroupEgress
    Properties:
      GroupId: !Ref Group
      IpProtocol: -1
      DestinationSecurityGroupId: !Ref Group
  Secret:
    Type: AWS::SecretsManager::Secret
    Properties: {Name: db, SecretString: '{"user": "admin"}'}
  Note:
    Type: AWS::SSM::Parameter
    Properties:
      Type: String
      Value: !Sub "{{resolve:secretsmanager:${Secret}:SecretString:user}}"
  Copy:
    Type: AWS::SSM::Parameter
    DependsOn: Note
    Properties: {Type: String, Value: !Sub "{{resolve:ssm:${Note}}}-2"}
Outputs:
  Block: {Value: !GetAtt Subnet.CidrBlock}
"""


def test_values_are_read_when_resources_are_made_and_what_is_gone_needs_no_deletion(
    stacks: Stacks,
) -> None:
    made = stacks.deploy_text("direct", DIRECT)
    assert made.status == "CREATE_COMPLETE", made.reasons
    assert made.outputs == {"Block": "10.0.1.0/24"}
    ssm = stacks.clients.service("ssm")
    copied = ssm.get_parameter(Name=made.ids["Copy"])["Parameter"]["Value"]
    assert copied == "admin-2"
    ec2 = stacks.clients.ec2
    rules = ec2.describe_security_group_rules(
        Filters=[{"Name": "group-id", "Values": [made.ids["Group"]]}]
    )["SecurityGroupRules"]
    assert {each["SecurityGroupRuleId"] for each in rules} == {
        made.ids["Everywhere"],
        made.ids["Within"],
    }

    ec2.delete_subnet(SubnetId=made.ids["Subnet"])
    for name in ("Everywhere", "Within"):
        ec2.revoke_security_group_egress(
            GroupId=made.ids["Group"], SecurityGroupRuleIds=[made.ids[name]]
        )
    ssm.delete_parameter(Name=made.ids["Note"])
    stacks.clients.service("secretsmanager").delete_secret(
        SecretId="db", ForceDeleteWithoutRecovery=True
    )

    ended = stacks.delete("direct")
    assert ended.status == "DELETE_COMPLETE", ended.reasons


SHARED = """
Resources:
  Vpc: {Type: AWS::EC2::VPC, Properties: {CidrBlock: 10.1.0.0/16, Tags: [{Key: a, Value: b}]}}
  Group:
    Type: AWS::EC2::SecurityGroup
    Properties:
      VpcId: !Ref Vpc
      GroupDescription: nodes
      SecurityGroupIngress: [{IpProtocol: tcp, FromPort: 22, ToPort: 22, CidrIp: 10.0.0.0/8}]
  Within:
    Type: AWS::EC2::SecurityGroupIngress
    Properties: {GroupId: !Ref Group, IpProtocol: -1, SourceSecurityGroupId: !Ref Group}
  Key: {Type: AWS::KMS::Key, Properties: {KeyPolicy: {}}}
  Logs: {Type: AWS::Logs::LogGroup, Properties: {LogGroupName: shared}}
Outputs:
  Vpc: {Value: !Ref Vpc, Export: {Name: shared-vpc}}
"""
IMPORTING = """
Resources:
  Note: {Type: AWS::SSM::Parameter, Properties: {Type: String, Value: !ImportValue shared-vpc}}
"""


def drifted(api: Any, name: str) -> dict[str, list[str]]:
    """Return the paths that have drifted, by logical id; all that is gone is one path."""
    detection = api.detect_stack_drift(StackName=name)["StackDriftDetectionId"]
    told = api.describe_stack_drift_detection_status(StackDriftDetectionId=detection)
    drifts = api.describe_stack_resource_drifts(
        StackName=name, StackResourceDriftStatusFilters=["MODIFIED", "DELETED"]
    )["StackResourceDrifts"]
    assert told["DetectionStatus"] == "DETECTION_COMPLETE"
    assert told["DriftedStackResourceCount"] == len(drifts)
    (stack,) = api.describe_stacks(StackName=name)["Stacks"]
    assert stack["DriftInformation"]["StackDriftStatus"] == told["StackDriftStatus"]
    return {
        each["LogicalResourceId"]: [
            difference["PropertyPath"] for difference in each["PropertyDifferences"]
        ]
        for each in drifts
    }


def test_drift_is_what_others_have_changed(stacks: Stacks) -> None:
    made = stacks.deploy_text("shared", SHARED)
    assert made.status == "CREATE_COMPLETE", made.reasons
    api, ec2 = stacks.clients.service("cloudformation"), stacks.clients.ec2
    assert drifted(api, "shared") == {}

    ec2.create_tags(Resources=[made.ids["Vpc"]], Tags=[{"Key": "x", "Value": "y"}])
    ec2.authorize_security_group_ingress(
        GroupId=made.ids["Group"], IpProtocol="tcp", FromPort=80, ToPort=80, CidrIp="0.0.0.0/0"
    )
    stacks.clients.logs.delete_log_group(logGroupName="shared")

    assert drifted(api, "shared") == {
        "Vpc": ["/Tags/1"],
        "Group": ["/SecurityGroupIngress/2"],
        "Logs": [],
    }
    one = api.detect_stack_resource_drift(StackName="shared", LogicalResourceId="Logs")
    assert one["StackResourceDrift"]["StackResourceDriftStatus"] == "DELETED"


def test_templates_are_validated_and_imports_listed(stacks: Stacks) -> None:
    api = stacks.clients.service("cloudformation")
    validated = api.validate_template(TemplateBody=INLINE)
    assert validated["Capabilities"] == ["CAPABILITY_IAM"]
    assert validated["Parameters"] == [
        {"ParameterKey": "Size", "DefaultValue": "3", "NoEcho": False}
    ]
    looping = api.validate_template(TemplateBody=CHILD)
    assert looping["DeclaredTransforms"] == ["AWS::LanguageExtensions"]
    assert looping["Capabilities"] == ["CAPABILITY_AUTO_EXPAND"]
    with pytest.raises(ClientError, match=r"Unresolved resource dependencies \[B\]"):
        api.validate_template(TemplateBody="Resources: {A: {Type: T, Properties: {X: !Ref B}}}")

    stacks.deploy_text("shared", SHARED)
    stacks.deploy_text("importing", IMPORTING)
    assert api.list_imports(ExportName="shared-vpc")["Imports"] == ["importing"]
    with pytest.raises(ClientError, match="'other' is not imported by any stack"):
        api.list_imports(ExportName="other")


WAITING = f"""
Resources:{ROLE}
  Kept:
    Type: AWS::SSM::Parameter
    Properties: {{Name: /kept, Type: String, Value: before}}
"""
WAITS_FOR_A_VPC = """
  Waits:
    Type: AWS::Lambda::Function
    Properties:
      Runtime: python3.12
      Handler: index.handler
      Role: !GetAtt Role.Arn
      Timeout: 120
      Code:
        ZipFile: |
          import time, boto3, cfnresponse
          def handler(event, context):
              kind, ec2 = event["RequestType"], boto3.client("ec2")
              seen = event["ResourceProperties"]["Seen"]
              while kind == "Create" and len(ec2.describe_vpcs()["Vpcs"]) <= int(seen):
                  time.sleep(0.1)
              cfnresponse.send(event, context, cfnresponse.SUCCESS, {})
  Begun:
    Type: Custom::Begun
    Properties: {ServiceToken: !GetAtt Waits.Arn, Seen: VPCS}
  Never:
    Type: AWS::SSM::Parameter
    DependsOn: Begun
    Properties: {Name: /never, Type: String, Value: x}
"""


def test_an_update_that_is_cancelled_goes_no_further_and_is_rolled_back(stacks: Stacks) -> None:
    api, ec2 = stacks.clients.service("cloudformation"), stacks.clients.service("ec2")
    stack = stacks.deploy_text("cancelled", WAITING)
    with pytest.raises(ClientError, match="cannot be called from current stack status: CREATE_"):
        api.cancel_update_stack(StackName="cancelled")

    more = WAITS_FOR_A_VPC.replace("VPCS", str(len(ec2.describe_vpcs()["Vpcs"])))
    after = WAITING.replace("before", "after") + more
    api.update_stack(StackName="cancelled", TemplateBody=after)
    api.cancel_update_stack(StackName="cancelled")
    ec2.create_vpc(CidrBlock="10.9.0.0/16")
    ended = stacks.outcome("cancelled")

    assert ended.status == "UPDATE_ROLLBACK_COMPLETE"
    assert ended.ids == stack.ids
    kept = stacks.clients.service("ssm").get_parameters(Names=["/kept", "/never"])["Parameters"]
    assert [(each["Name"], each["Value"]) for each in kept] == [("/kept", "before")]
    with pytest.raises(ClientError, match="cannot be called from current stack status: UPDATE_R"):
        api.cancel_update_stack(StackName="cancelled")
