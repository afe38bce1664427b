// The module cfn-response of inline Node.js functions: answers CloudFormation at the event's URL.
const https = require("https");

exports.SUCCESS = "SUCCESS";
exports.FAILED = "FAILED";
exports.send = function (event, context, responseStatus, responseData, physicalResourceId, noEcho) {
  const body = JSON.stringify({
    Status: responseStatus,
    Reason: `See the details in CloudWatch Log Stream: ${context.logStreamName}`,
    PhysicalResourceId: physicalResourceId || context.logStreamName,
    StackId: event.StackId,
    RequestId: event.RequestId,
    LogicalResourceId: event.LogicalResourceId,
    NoEcho: noEcho || false,
    Data: responseData,
  });
  const headers = { "content-type": "", "content-length": Buffer.byteLength(body) };
  const request = https.request(event.ResponseURL, { method: "PUT", headers }, () => context.done());
  request.on("error", (error) => context.done(error));
  request.end(body);
};
