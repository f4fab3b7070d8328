import {
  atomicList,
  embeddedIn,
  int32,
  int64,
  intOrString,
  named,
  object,
  string,
} from "../../../machinery/schema/schema.ts";

const execAction = object({
  goType: "v1.ExecAction",
  description: "A command in a container.",
  fields: {
    command: {
      number: 1,
      schema: atomicList(string),
      description: "The command and its arguments; no shell is involved.",
    },
  },
});

const httpHeader = object({
  goType: "v1.HTTPHeader",
  description: "A header of a request.",
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "The header's name." },
    value: { number: 2, schema: string, presence: "always", isRequired: true, description: "The header's value." },
  },
});

const httpGetAction = object({
  goType: "v1.HTTPGetAction",
  description: "An HTTP request.",
  fields: {
    path: { number: 1, schema: string, default: "/", description: "The path of the request." },
    port: {
      number: 2,
      schema: intOrString,
      presence: "always",
      isRequired: true,
      description: "The port's number or name.",
    },
    host: { number: 3, schema: string, description: "The host to connect to, the Pod's address by default." },
    scheme: { number: 4, schema: named(string, "v1.URIScheme"), default: "HTTP", description: "HTTP or HTTPS." },
    httpHeaders: { number: 5, schema: atomicList(httpHeader), description: "Headers to send." },
    protocol: {
      number: 6,
      schema: named(string, "v1.HTTPProtocol"),
      presence: "pointer",
      description: "The version of HTTP to speak.",
    },
  },
});

const tcpSocketAction = object({
  goType: "v1.TCPSocketAction",
  description: "Opening a connection.",
  fields: {
    port: {
      number: 1,
      schema: intOrString,
      presence: "always",
      isRequired: true,
      description: "The port's number or name.",
    },
    host: { number: 2, schema: string, description: "The host to connect to, the Pod's address by default." },
  },
});

const grpcAction = object({
  goType: "v1.GRPCAction",
  description: "A call of the gRPC health service.",
  fields: {
    port: { number: 1, schema: int32, presence: "always", isRequired: true, description: "The port's number." },
    service: { number: 2, schema: string, presence: "nullable", default: "", description: "The service to ask for." },
    mode: {
      number: 3,
      schema: named(string, "v1.GRPCProbeMode"),
      presence: "pointer",
      description: "How the connection is made.",
    },
  },
});

const sleepAction = object({
  goType: "v1.SleepAction",
  description: "A pause.",
  fields: {
    seconds: {
      number: 1,
      schema: int64,
      presence: "always",
      isRequired: true,
      description: "How long it is, in seconds.",
    },
  },
});

export const probe = object({
  goType: "v1.Probe",
  description: "A check that is repeated.",
  fields: {
    ...embeddedIn(1, {
      exec: { number: 1, schema: execAction, presence: "pointer", description: "Runs a command in the container." },
      httpGet: { number: 2, schema: httpGetAction, presence: "pointer", description: "Sends an HTTP request." },
      tcpSocket: { number: 3, schema: tcpSocketAction, presence: "pointer", description: "Opens a connection." },
      grpc: { number: 4, schema: grpcAction, presence: "pointer", description: "Calls the gRPC health service." },
    }),
    initialDelaySeconds: { number: 2, schema: int32, description: "Seconds to wait after the container's start." },
    timeoutSeconds: { number: 3, schema: int32, default: 1, description: "Seconds after which a check has failed." },
    periodSeconds: { number: 4, schema: int32, default: 10, description: "Seconds between checks." },
    successThreshold: {
      number: 5,
      schema: int32,
      default: 1,
      description: "So many successes in a row make it succeed again.",
    },
    failureThreshold: { number: 6, schema: int32, default: 3, description: "So many failures in a row make it fail." },
    terminationGracePeriodSeconds: {
      number: 7,
      schema: int64,
      presence: "pointer",
      description: "Seconds that the Pod has to end when it fails.",
    },
  },
});

const lifecycleHandler = object({
  goType: "v1.LifecycleHandler",
  description: "One action of a lifecycle.",
  fields: {
    exec: { number: 1, schema: execAction, presence: "pointer", description: "Runs a command in the container." },
    httpGet: { number: 2, schema: httpGetAction, presence: "pointer", description: "Sends an HTTP request." },
    tcpSocket: { number: 3, schema: tcpSocketAction, presence: "pointer", description: "Deprecated: not supported." },
    sleep: { number: 4, schema: sleepAction, presence: "pointer", description: "Waits." },
  },
});

export const lifecycle = object({
  goType: "v1.Lifecycle",
  description: "What runs when a container starts and before it stops.",
  fields: {
    postStart: {
      number: 1,
      schema: lifecycleHandler,
      presence: "pointer",
      description: "Runs right after the container's start.",
    },
    preStop: {
      number: 2,
      schema: lifecycleHandler,
      presence: "pointer",
      description: "Runs before the container is stopped.",
    },
    stopSignal: {
      number: 3,
      schema: named(string, "v1.Signal"),
      presence: "pointer",
      description: "The signal that stops the container.",
    },
  },
});
