import {
  atomicList,
  boolean,
  embeddedIn,
  int32,
  mapList,
  named,
  object,
  string,
  uniqueList,
} from "../../../machinery/schema/schema.ts";
import type { Field } from "../../../machinery/schema/schema.ts";
import { containerResizePolicy, resourceRequirements } from "./container-resources.ts";
import { envFromSource, envVar } from "./environment.ts";
import { lifecycle, probe } from "./probe.ts";
import { securityContext } from "./security-context.ts";

const containerPort = object({
  goType: "v1.ContainerPort",
  description: "A port that a program listens on.",
  fields: {
    name: { number: 1, schema: string, description: "By which services refer to it." },
    hostPort: { number: 2, schema: int32, description: "The node's port that leads to it." },
    containerPort: {
      number: 3,
      schema: int32,
      presence: "always",
      isRequired: true,
      description: "The port's number.",
    },
    protocol: { number: 4, schema: named(string, "v1.Protocol"), default: "TCP", description: "TCP, UDP or SCTP." },
    hostIP: { number: 5, schema: string, description: "The node's address that the hostPort is on." },
  },
});

const volumeMount = object({
  goType: "v1.VolumeMount",
  description: "Where a volume is mounted.",
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "The volume's name." },
    readOnly: { number: 2, schema: boolean, description: "Whether it can only be read." },
    recursiveReadOnly: {
      number: 7,
      schema: named(string, "v1.RecursiveReadOnlyMode"),
      presence: "pointer",
      description: "Whether mounts below it can only be read too: Disabled, IfPossible or Enabled.",
    },
    mountPath: {
      number: 3,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The path within the container.",
    },
    subPath: { number: 4, schema: string, description: "The path within the volume, its root by default." },
    mountPropagation: {
      number: 5,
      schema: named(string, "v1.MountPropagationMode"),
      presence: "pointer",
      description: "Whether mounts below it are shared with the node.",
    },
    subPathExpr: { number: 6, schema: string, description: "As subPath, with $(VARIABLES) of the environment." },
    bindMountOptions: { number: 8, schema: uniqueList(string), description: "Options with which it is mounted." },
  },
});

const volumeDevice = object({
  goType: "v1.VolumeDevice",
  description: "Where a volume is seen as a block device.",
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "The volume's name." },
    devicePath: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The device's path within the container.",
    },
  },
});

const containerRestartRuleOnExitCodes = object({
  goType: "v1.ContainerRestartRuleOnExitCodes",
  description: "A set of exit statuses.",
  fields: {
    operator: {
      number: 1,
      schema: named(string, "v1.ContainerRestartRuleOnExitCodesOperator"),
      description: "In or NotIn.",
    },
    values: { number: 2, schema: uniqueList(int32), description: "The exit statuses." },
  },
});

const containerRestartRule = object({
  goType: "v1.ContainerRestartRule",
  description: "What happens when a program ends in a certain way.",
  fields: {
    action: {
      number: 1,
      schema: named(string, "v1.ContainerRestartRuleAction"),
      description: "Restart or RestartAllContainers.",
    },
    exitCodes: {
      number: 2,
      schema: containerRestartRuleOnExitCodes,
      presence: "pointer",
      description: "The exit statuses that the rule is for.",
    },
  },
});

const containerFields = {
  name: { number: 1, schema: string, presence: "always", isRequired: true, description: "Unique within the Pod." },
  image: { number: 2, schema: string, description: "The image to run." },
  command: { number: 3, schema: atomicList(string), description: "Replaces the image's entrypoint." },
  args: { number: 4, schema: atomicList(string), description: "The arguments of the entrypoint." },
  workingDir: { number: 5, schema: string, description: "Where the program starts." },
  ports: {
    number: 6,
    schema: { ...mapList(containerPort, "containerPort"), mapKeys: ["containerPort", "protocol"] },
    description: "The ports that the program listens on.",
  },
  envFrom: {
    number: 19,
    schema: atomicList(envFromSource),
    description: "Sources of which all keys become environment variables.",
  },
  env: { number: 7, schema: mapList(envVar, "name"), description: "Environment variables." },
  resources: {
    number: 8,
    schema: resourceRequirements,
    presence: "always",
    description: "What the program needs, and may use at most.",
  },
  resizePolicy: {
    number: 23,
    schema: atomicList(containerResizePolicy),
    description: "What a change of its resources takes.",
  },
  restartPolicy: {
    number: 24,
    schema: named(string, "v1.ContainerRestartPolicy"),
    presence: "pointer",
    description: "Whether this program is restarted.",
  },
  restartPolicyRules: {
    number: 25,
    schema: atomicList(containerRestartRule),
    description: "Rules that go before restartPolicy, the first that fits counts.",
  },
  volumeMounts: { number: 9, schema: mapList(volumeMount, "mountPath"), description: "Where volumes are mounted." },
  volumeDevices: {
    number: 21,
    schema: mapList(volumeDevice, "devicePath"),
    description: "Where volumes are seen as block devices.",
  },
  livenessProbe: {
    number: 10,
    schema: probe,
    presence: "pointer",
    description: "Restarts the container when it fails.",
  },
  readinessProbe: {
    number: 11,
    schema: probe,
    presence: "pointer",
    description: "Takes the container out of service while it fails.",
  },
  startupProbe: {
    number: 22,
    schema: probe,
    presence: "pointer",
    description: "Must succeed before the other probes begin.",
  },
  lifecycle: {
    number: 12,
    schema: lifecycle,
    presence: "pointer",
    description: "What runs when the container starts and before it stops.",
  },
  terminationMessagePath: {
    number: 13,
    schema: string,
    default: "/dev/termination-log",
    description: "The file from which the last message is read when the program ends.",
  },
  terminationMessagePolicy: {
    number: 20,
    schema: named(string, "v1.TerminationMessagePolicy"),
    default: "File",
    description: "Where the last message comes from: File or FallbackToLogsOnError.",
  },
  imagePullPolicy: {
    number: 14,
    schema: named(string, "v1.PullPolicy"),
    description: "When the image is pulled: Always, IfNotPresent or Never.",
  },
  securityContext: {
    number: 15,
    schema: securityContext,
    presence: "pointer",
    description: "As whom and with which rights the program runs.",
  },
  stdin: { number: 16, schema: boolean, description: "Whether the program gets a standard input." },
  stdinOnce: { number: 17, schema: boolean, description: "Whether the standard input closes after the first client." },
  tty: { number: 18, schema: boolean, description: "Whether the program gets a terminal. It needs stdin." },
} as const satisfies Record<string, Field>;

export const container = object({
  goType: "v1.Container",
  description: "A program of a Pod.",
  fields: containerFields,
});

export const ephemeralContainer = object({
  goType: "v1.EphemeralContainer",
  description: "A container that was added to a running Pod, to look into it. It is never restarted.",
  fields: {
    ...embeddedIn(1, containerFields),
    targetContainerName: { number: 2, schema: string, description: "The container whose processes it sees." },
  },
});
