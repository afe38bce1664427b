// Runs one invocation of a Node.js function, with the input from embedded_aws/functions/process.py.
// It exits when its standard input closes: its parent process is gone.
const fs = require("fs");
const http = require("http");
const https = require("https");
const path = require("path");
const { pathToFileURL } = require("url");

const folder = process.argv[2];
const invocation = JSON.parse(fs.readFileSync(path.join(folder, "invocation.json"), "utf8"));
const started = Date.now();

// Responses to CloudFormation use HTTPS on AWS; the embedded AWS uses HTTP only.
const endpoint = new URL(process.env.AWS_ENDPOINT_URL);
const secure = https.request;
https.request = (first, ...rest) => {
  const isText = typeof first === "string" || first instanceof URL;
  const target = isText ? new URL(first) : first;
  if ((target.hostname || target.host) !== endpoint.hostname) return secure(first, ...rest);
  const named = isText ? { hostname: target.hostname, path: target.pathname + target.search } : first;
  const own = { ...named, protocol: "http:", port: endpoint.port };
  const options = isText && typeof rest[0] === "object" ? { ...rest.shift(), ...own } : own;
  return http.request(options, ...rest);
};

function end(outcome) {
  fs.writeFileSync(path.join(folder, "outcome.json"), JSON.stringify(outcome));
  process.exit(0);
}
const succeed = (result) => end({ result: result === undefined ? null : result });
function fail(error) {
  console.error(error);
  end({ error: { errorMessage: String((error && error.message) || error), errorType: (error && error.name) || "Error" } });
}

const context = {
  awsRequestId: invocation.request_id,
  functionName: process.env.AWS_LAMBDA_FUNCTION_NAME,
  functionVersion: process.env.AWS_LAMBDA_FUNCTION_VERSION,
  invokedFunctionArn: invocation.arn,
  logGroupName: process.env.AWS_LAMBDA_LOG_GROUP_NAME,
  logStreamName: process.env.AWS_LAMBDA_LOG_STREAM_NAME,
  memoryLimitInMB: process.env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
  getRemainingTimeInMillis: () => Math.max(0, invocation.limit_s * 1000 - (Date.now() - started)),
  done: (error, result) => (error ? fail(error) : succeed(result)),
  succeed,
  fail,
};

async function main() {
  const [module, name] = process.env._HANDLER.split(/\.(?=[^.]*$)/);
  const base = path.join(process.env.LAMBDA_TASK_ROOT, module);
  const file = [".js", ".mjs", ".cjs"].map((end) => base + end).find(fs.existsSync);
  if (!file) throw new Error(`Cannot find module '${module}'`);
  const loaded = await import(pathToFileURL(file));
  const handler = loaded[name] || (loaded.default && loaded.default[name]);
  if (!handler) throw new Error(`${process.env._HANDLER} is undefined or not exported`);
  const promise = handler(invocation.event, context, context.done);
  if (promise && typeof promise.then === "function") succeed(await promise);
  else process.on("beforeExit", () => succeed(null));
}

process.stdin.on("end", () => process.exit(1)).resume();
process.stdin.unref();
process.on("uncaughtException", fail);
main().catch(fail);
