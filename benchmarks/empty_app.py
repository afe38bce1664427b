"""The floor of every synthesis: an app with one stack that has one placeholder resource."""

from aws_cdk import App, CfnWaitConditionHandle, Stack

app = App()
CfnWaitConditionHandle(Stack(app, "Empty"), "Nothing")
app.synth()
