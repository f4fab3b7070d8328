import { typeMetaFields } from "../schema/meta-schemas.ts";
import { objectMeta } from "../schema/object-meta-schema.ts";
import {
  any,
  atomicList,
  boolean,
  int32,
  int64,
  mapList,
  mapOf,
  named,
  object,
  quantity,
  string,
  time,
} from "../schema/schema.ts";
import type { Infer } from "../schema/schema.ts";
import { localObjectReference } from "./object-references.ts";

/** Resources by name: `cpu`, `memory`. */
export const resourceList = mapOf(quantity);

const container = object({
  goType: "v1.Container",
  description: "A program of a Pod. Fields that are not listed here are kept as they are.",
  isOpen: true,
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "Unique within the Pod." },
    image: { number: 2, schema: string, description: "The image to run." },
    command: { number: 3, schema: atomicList(string), description: "Replaces the image's entrypoint." },
    args: { number: 4, schema: atomicList(string), description: "The arguments of the entrypoint." },
    workingDir: { number: 5, schema: string, description: "Where the program starts." },
    resources: {
      number: 8,
      presence: "always",
      description: "What the program needs, and may use at most.",
      schema: object({
        goType: "v1.ResourceRequirements",
        description: "What a program needs, and may use at most.",
        isOpen: true,
        fields: {
          limits: { number: 1, schema: resourceList, description: "At most this." },
          requests: { number: 2, schema: resourceList, description: "At least this." },
        },
      }),
    },
    restartPolicy: {
      number: 24,
      schema: string,
      presence: "pointer",
      description: "Whether this program is restarted.",
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
  },
});

const podSpec = object({
  goType: "v1.PodSpec",
  description: "What a Pod runs, where, and as whom. Fields that are not listed here are kept as they are.",
  isOpen: true,
  fields: {
    volumes: { number: 1, schema: atomicList(any), description: "What the containers can mount." },
    initContainers: {
      number: 20,
      schema: mapList(container, "name"),
      description: "Programs that run before the others, one after another.",
    },
    containers: {
      number: 2,
      schema: mapList(container, "name"),
      presence: "always",
      isRequired: true,
      description: "The programs of the Pod, one at least.",
    },
    restartPolicy: {
      number: 3,
      schema: named(string, "v1.RestartPolicy"),
      default: "Always",
      description: "Whether programs that end are restarted: Always, OnFailure or Never.",
    },
    terminationGracePeriodSeconds: {
      number: 4,
      schema: int64,
      presence: "pointer",
      default: 30,
      description: "Seconds that the Pod has to end when it is deleted.",
    },
    activeDeadlineSeconds: {
      number: 5,
      schema: int64,
      presence: "pointer",
      description: "Seconds after which the Pod is ended.",
    },
    dnsPolicy: {
      number: 6,
      schema: named(string, "v1.DNSPolicy"),
      default: "ClusterFirst",
      description: "How names are resolved.",
    },
    nodeSelector: { number: 7, schema: mapOf(string), description: "Labels that the node must have." },
    serviceAccountName: {
      number: 8,
      schema: string,
      description: "The service account that the Pod runs as: `default` when none is named.",
    },
    serviceAccount: { number: 9, schema: string, description: "Deprecated: the same as serviceAccountName." },
    automountServiceAccountToken: {
      number: 21,
      schema: boolean,
      presence: "pointer",
      description: "Whether the Pod gets an API token mounted.",
    },
    nodeName: { number: 10, schema: string, description: "The node that the Pod is on. It cannot be changed." },
    hostNetwork: { number: 11, schema: boolean, description: "Whether the Pod uses its node's network." },
    hostPID: { number: 12, schema: boolean, description: "Whether the Pod sees its node's processes." },
    hostIPC: { number: 13, schema: boolean, description: "Whether the Pod shares its node's IPC namespace." },
    imagePullSecrets: {
      number: 15,
      schema: mapList(localObjectReference, "name"),
      description: "Secrets with which images are pulled: the service account's when none are listed.",
    },
    hostname: { number: 16, schema: string, description: "The Pod's host name." },
    subdomain: { number: 17, schema: string, description: "The domain below which the host name is." },
    schedulerName: {
      number: 19,
      schema: string,
      default: "default-scheduler",
      description: "Who picks the node.",
    },
    tolerations: { number: 22, schema: atomicList(any), description: "Taints of nodes that the Pod puts up with." },
    priorityClassName: { number: 24, schema: string, description: "How important the Pod is." },
    priority: { number: 25, schema: int32, presence: "pointer", description: "How important the Pod is, as a number." },
    readinessGates: {
      number: 28,
      schema: atomicList(
        object({
          goType: "v1.PodReadinessGate",
          description: "A condition that must be True too before a Pod is ready.",
          fields: {
            conditionType: {
              number: 1,
              schema: named(string, "v1.PodConditionType"),
              presence: "always",
              isRequired: true,
              description: "The type of the condition.",
            },
          },
        }),
      ),
      description: "Conditions that must be True too before the Pod is ready.",
    },
    enableServiceLinks: {
      number: 30,
      schema: boolean,
      presence: "pointer",
      default: true,
      description: "Whether services are shown in environment variables.",
    },
  },
});

const podCondition = object({
  goType: "v1.PodCondition",
  description: "What is known of one side of a Pod's state.",
  isOpen: true,
  fields: {
    type: {
      number: 1,
      schema: named(string, "v1.PodConditionType"),
      presence: "always",
      isRequired: true,
      description: "The kind of the condition.",
    },
    observedGeneration: {
      number: 7,
      schema: int64,
      description: "The generation of the Pod that the condition is of.",
    },
    status: {
      number: 2,
      schema: named(string, "v1.ConditionStatus"),
      presence: "always",
      isRequired: true,
      description: "True, False or Unknown.",
    },
    lastProbeTime: { number: 3, schema: time, description: "When it was last looked at." },
    lastTransitionTime: { number: 4, schema: time, description: "When the status last changed." },
    reason: { number: 5, schema: string, description: "A word for machines on why." },
    message: { number: 6, schema: string, description: "A sentence for people on why." },
  },
});

const containerState = object({
  goType: "v1.ContainerState",
  description: "Waiting, running or terminated.",
  fields: {
    waiting: {
      number: 1,
      presence: "pointer",
      description: "Why the program does not run yet.",
      schema: object({
        goType: "v1.ContainerStateWaiting",
        description: "Why a program does not run yet.",
        fields: {
          reason: { number: 1, schema: string, description: "A word for machines." },
          message: { number: 2, schema: string, description: "A sentence for people." },
        },
      }),
    },
    running: {
      number: 2,
      presence: "pointer",
      description: "Since when the program runs.",
      schema: object({
        goType: "v1.ContainerStateRunning",
        description: "Since when a program runs.",
        fields: { startedAt: { number: 1, schema: time, description: "When it was started." } },
      }),
    },
    terminated: {
      number: 3,
      presence: "pointer",
      description: "How the program ended.",
      schema: object({
        goType: "v1.ContainerStateTerminated",
        description: "How a program ended.",
        fields: {
          exitCode: { number: 1, schema: int32, presence: "always", isRequired: true, description: "Its exit status." },
          signal: { number: 2, schema: int32, description: "The signal that ended it." },
          reason: { number: 3, schema: string, description: "A word for machines on why." },
          message: { number: 4, schema: string, description: "Its last message." },
          startedAt: { number: 5, schema: time, description: "When it was started." },
          finishedAt: { number: 6, schema: time, description: "When it ended." },
          containerID: { number: 7, schema: string, description: "The container, as `type://id`." },
        },
      }),
    },
  },
});

const containerStatus = object({
  goType: "v1.ContainerStatus",
  description: "The state of one container.",
  isOpen: true,
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "The container's name." },
    state: { number: 2, schema: containerState, presence: "always", description: "Its state now." },
    lastState: { number: 3, schema: containerState, presence: "always", description: "How it ended the last time." },
    ready: { number: 4, schema: boolean, presence: "always", isRequired: true, description: "Whether it is ready." },
    restartCount: {
      number: 5,
      schema: int32,
      presence: "always",
      isRequired: true,
      description: "How often it was restarted.",
    },
    image: { number: 6, schema: string, presence: "always", isRequired: true, description: "The image that runs." },
    imageID: { number: 7, schema: string, presence: "always", isRequired: true, description: "The image's digest." },
    containerID: { number: 8, schema: string, description: "The container, as `type://id`." },
    started: {
      number: 9,
      schema: boolean,
      presence: "pointer",
      description: "Whether it has passed its startup probe.",
    },
  },
});

const address = (goType: string) =>
  object({
    goType,
    description: "An IP address.",
    fields: { ip: { number: 1, schema: string, presence: "always", isRequired: true, description: "The address." } },
  });

const podStatus = object({
  goType: "v1.PodStatus",
  description: "What the node reports of a Pod. Fields that are not listed here are kept as they are.",
  isOpen: true,
  fields: {
    observedGeneration: { number: 17, schema: int64, description: "The generation of the Pod that the status is of." },
    phase: {
      number: 1,
      schema: named(string, "v1.PodPhase"),
      description: "Pending, Running, Succeeded, Failed or Unknown.",
    },
    conditions: { number: 2, schema: mapList(podCondition, "type"), description: "The sides of the Pod's state." },
    message: { number: 3, schema: string, description: "A sentence for people on the phase." },
    reason: { number: 4, schema: string, description: "A word for machines on the phase." },
    nominatedNodeName: { number: 11, schema: string, description: "The node that is being made free for the Pod." },
    hostIP: { number: 5, schema: string, description: "The node's address." },
    hostIPs: { number: 16, schema: atomicList(address("v1.HostIP")), description: "All of the node's addresses." },
    podIP: { number: 6, schema: string, description: "The Pod's address." },
    podIPs: { number: 12, schema: mapList(address("v1.PodIP"), "ip"), description: "All of the Pod's addresses." },
    startTime: { number: 7, schema: time, presence: "pointer", description: "When the node took the Pod." },
    initContainerStatuses: {
      number: 10,
      schema: atomicList(containerStatus),
      description: "The state of each init container.",
    },
    containerStatuses: { number: 8, schema: atomicList(containerStatus), description: "The state of each container." },
    qosClass: {
      number: 9,
      schema: named(string, "v1.PodQOSClass"),
      description: "Guaranteed, Burstable or BestEffort.",
    },
  },
});

export const podSchema = object({
  goType: "v1.Pod",
  description:
    "Programs that run together on a node. Signet keeps Pods, so that tokens can be bound to them; it runs none.",
  fields: {
    ...typeMetaFields,
    metadata: { number: 1, schema: objectMeta, presence: "always", description: "Standard object metadata." },
    spec: { number: 2, schema: podSpec, presence: "always", description: "What the Pod runs, where, and as whom." },
    status: { number: 3, schema: podStatus, presence: "always", description: "What the node reports." },
  },
});

export type Pod = Infer<typeof podSchema>;
export type Container = Infer<typeof container>;
