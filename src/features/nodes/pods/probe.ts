import { atomicList, embeddedIn, int32, int64, intOrString, named, string } from "../../../machinery/schema/schema.ts";
import { nullable, omitEmpty, pointer, required, struct } from "../../../machinery/schema/struct.ts";

const execAction = struct("v1.ExecAction", "A command in a container.", {
  command: omitEmpty(1, atomicList(string), "The command and its arguments; no shell is involved."),
});

const httpHeader = struct("v1.HTTPHeader", "A header of a request.", {
  name: required(1, string, "The header's name."),
  value: required(2, string, "The header's value."),
});

const httpGetAction = struct("v1.HTTPGetAction", "An HTTP request.", {
  path: omitEmpty(1, string, "The path of the request.", { default: "/" }),
  port: required(2, intOrString, "The port's number or name."),
  host: omitEmpty(3, string, "The host to connect to, the Pod's address by default."),
  scheme: omitEmpty(4, named(string, "v1.URIScheme"), "HTTP or HTTPS.", { default: "HTTP" }),
  httpHeaders: omitEmpty(5, atomicList(httpHeader), "Headers to send."),
  protocol: pointer(6, named(string, "v1.HTTPProtocol"), "The version of HTTP to speak."),
});

const tcpSocketAction = struct("v1.TCPSocketAction", "Opening a connection.", {
  port: required(1, intOrString, "The port's number or name."),
  host: omitEmpty(2, string, "The host to connect to, the Pod's address by default."),
});

const grpcAction = struct("v1.GRPCAction", "A call of the gRPC health service.", {
  port: required(1, int32, "The port's number."),
  service: nullable(2, string, "The service to ask for.", { default: "" }),
  mode: pointer(3, named(string, "v1.GRPCProbeMode"), "How the connection is made."),
});

const sleepAction = struct("v1.SleepAction", "A pause.", {
  seconds: required(1, int64, "How long it is, in seconds."),
});

export const probe = struct("v1.Probe", "A check that is repeated.", {
  ...embeddedIn(1, {
    exec: pointer(1, execAction, "Runs a command in the container."),
    httpGet: pointer(2, httpGetAction, "Sends an HTTP request."),
    tcpSocket: pointer(3, tcpSocketAction, "Opens a connection."),
    grpc: pointer(4, grpcAction, "Calls the gRPC health service."),
  }),
  initialDelaySeconds: omitEmpty(2, int32, "Seconds to wait after the container's start."),
  timeoutSeconds: omitEmpty(3, int32, "Seconds after which a check has failed.", { default: 1 }),
  periodSeconds: omitEmpty(4, int32, "Seconds between checks.", { default: 10 }),
  successThreshold: omitEmpty(5, int32, "So many successes in a row make it succeed again.", { default: 1 }),
  failureThreshold: omitEmpty(6, int32, "So many failures in a row make it fail.", { default: 3 }),
  terminationGracePeriodSeconds: pointer(7, int64, "Seconds that the Pod has to end when it fails."),
});

const lifecycleHandler = struct("v1.LifecycleHandler", "One action of a lifecycle.", {
  exec: pointer(1, execAction, "Runs a command in the container."),
  httpGet: pointer(2, httpGetAction, "Sends an HTTP request."),
  tcpSocket: pointer(3, tcpSocketAction, "Deprecated: not supported."),
  sleep: pointer(4, sleepAction, "Waits."),
});

export const lifecycle = struct("v1.Lifecycle", "What runs when a container starts and before it stops.", {
  postStart: pointer(1, lifecycleHandler, "Runs right after the container's start."),
  preStop: pointer(2, lifecycleHandler, "Runs before the container is stopped."),
  stopSignal: pointer(3, named(string, "v1.Signal"), "The signal that stops the container."),
});
