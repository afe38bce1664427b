"""The floor of every synthesis: an app with one empty stack."""

from aws_cdk import App, Stack

app = App()
Stack(app, "Empty")
app.synth()
