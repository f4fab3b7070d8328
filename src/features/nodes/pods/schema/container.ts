import {
  atomicList,
  boolean,
  embeddedIn,
  int32,
  int64,
  intOrString,
  mapList,
  named,
  replacedByPatch,
  setList,
  string,
} from "../../../../machinery/schema/schema.ts";
import { always, omitEmpty, pointer, required, struct, nullable } from "../../../../machinery/schema/struct.ts";
import { containerResizePolicy, resourceRequirements } from "./container-resources.ts";
import { envFromSource, envVar } from "./environment.ts";
import { securityContext } from "./security-context.ts";

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

const probe = struct("v1.Probe", "A check that is repeated.", {
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

const lifecycle = struct("v1.Lifecycle", "What runs when a container starts and before it stops.", {
  postStart: pointer(1, lifecycleHandler, "Runs right after the container's start."),
  preStop: pointer(2, lifecycleHandler, "Runs before the container is stopped."),
  stopSignal: pointer(3, named(string, "v1.Signal"), "The signal that stops the container."),
});

const containerPort = struct("v1.ContainerPort", "A port that a program listens on.", {
  name: omitEmpty(1, string, "By which services refer to it."),
  hostPort: omitEmpty(2, int32, "The node's port that leads to it."),
  containerPort: required(3, int32, "The port's number."),
  protocol: omitEmpty(4, named(string, "v1.Protocol"), "TCP, UDP or SCTP.", { default: "TCP" }),
  hostIP: omitEmpty(5, string, "The node's address that the hostPort is on."),
});

const volumeMount = struct("v1.VolumeMount", "Where a volume is mounted.", {
  name: required(1, string, "The volume's name."),
  readOnly: omitEmpty(2, boolean, "Whether it is read-only."),
  recursiveReadOnly: pointer(
    7,
    named(string, "v1.RecursiveReadOnlyMode"),
    "Whether submounts are read-only too: Disabled, IfPossible or Enabled.",
  ),
  mountPath: required(3, string, "The path within the container."),
  subPath: omitEmpty(4, string, "The path within the volume, its root by default."),
  mountPropagation: pointer(
    5,
    named(string, "v1.MountPropagationMode"),
    "How mounts are propagated between node and container.",
  ),
  subPathExpr: omitEmpty(6, string, "As subPath, with $(VARIABLES) of the environment."),
  bindMountOptions: omitEmpty(8, replacedByPatch(setList(string)), "Options with which it is mounted."),
});

const volumeDevice = struct("v1.VolumeDevice", "Where a volume is seen as a block device.", {
  name: required(1, string, "The volume's name."),
  devicePath: required(2, string, "The device's path within the container."),
});

const containerRestartRuleOnExitCodes = struct("v1.ContainerRestartRuleOnExitCodes", "A set of exit statuses.", {
  operator: omitEmpty(1, named(string, "v1.ContainerRestartRuleOnExitCodesOperator"), "In or NotIn.", {
    isRequired: true,
  }),
  values: omitEmpty(2, replacedByPatch(setList(int32)), "The exit statuses."),
});

const containerRestartRule = struct("v1.ContainerRestartRule", "What happens when a program ends in a certain way.", {
  action: omitEmpty(1, named(string, "v1.ContainerRestartRuleAction"), "Restart or RestartAllContainers.", {
    isRequired: true,
  }),
  exitCodes: pointer(2, containerRestartRuleOnExitCodes, "The exit statuses that the rule is for."),
});

const containerFields = {
  name: required(1, string, "Unique within the Pod."),
  image: omitEmpty(2, string, "The image to run."),
  command: omitEmpty(3, atomicList(string), "Replaces the image's entrypoint."),
  args: omitEmpty(4, atomicList(string), "The arguments of the entrypoint."),
  workingDir: omitEmpty(5, string, "Where the program starts."),
  ports: omitEmpty(6, mapList(containerPort, "containerPort", "protocol"), "The ports that the program listens on."),
  envFrom: omitEmpty(19, atomicList(envFromSource), "Sources of which all keys become environment variables."),
  env: omitEmpty(7, mapList(envVar, "name"), "Environment variables."),
  resources: always(8, resourceRequirements, "The resources that the program needs and may use."),
  resizePolicy: omitEmpty(23, atomicList(containerResizePolicy), "What happens when its resources change."),
  restartPolicy: pointer(24, named(string, "v1.ContainerRestartPolicy"), "Whether this program is restarted."),
  restartPolicyRules: omitEmpty(
    25,
    atomicList(containerRestartRule),
    "Rules that go before restartPolicy, the first that fits counts.",
  ),
  volumeMounts: omitEmpty(9, mapList(volumeMount, "mountPath"), "Where volumes are mounted."),
  volumeDevices: omitEmpty(21, mapList(volumeDevice, "devicePath"), "Where volumes are seen as block devices."),
  livenessProbe: pointer(10, probe, "Restarts the container when it fails."),
  readinessProbe: pointer(11, probe, "Takes the container out of service while it fails."),
  startupProbe: pointer(22, probe, "Must succeed before the other probes begin."),
  lifecycle: pointer(12, lifecycle, "What runs when the container starts and before it stops."),
  terminationMessagePath: omitEmpty(13, string, "The file from which the last message is read when the program ends.", {
    default: "/dev/termination-log",
  }),
  terminationMessagePolicy: omitEmpty(
    20,
    named(string, "v1.TerminationMessagePolicy"),
    "Where the last message comes from: File or FallbackToLogsOnError.",
    { default: "File" },
  ),
  imagePullPolicy: omitEmpty(
    14,
    named(string, "v1.PullPolicy"),
    "When the image is pulled: Always, IfNotPresent or Never.",
  ),
  securityContext: pointer(15, securityContext, "The user and privileges of the program."),
  stdin: omitEmpty(16, boolean, "Whether the program gets a standard input."),
  stdinOnce: omitEmpty(17, boolean, "Whether the standard input closes after the first client."),
  tty: omitEmpty(18, boolean, "Whether the program gets a terminal. It needs stdin."),
};

export const container = struct("v1.Container", "A program of a Pod.", containerFields);

export const ephemeralContainer = struct(
  "v1.EphemeralContainer",
  "A container that was added to a running Pod, to look into it. It is never restarted.",
  {
    ...embeddedIn(1, containerFields),
    targetContainerName: omitEmpty(2, string, "The container whose processes it sees."),
  },
);
