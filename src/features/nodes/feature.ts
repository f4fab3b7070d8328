import type { AdmissionRule, Authorize } from "../../machinery/api/attributes.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { UserInfo } from "../../machinery/api/user-info.ts";
import type { AuthorizerInMemory } from "../../machinery/authorization/authorizer.ts";
import { kind } from "../../machinery/registry/definition/kind.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { followRegistry } from "../../machinery/registry/reads/follow-registry.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { secretResource } from "../core/index.ts";
import { bootstrapPolicy } from "../access/index.ts";
import { bootstrapRule } from "./bootstrap/bootstrap-rule.ts";
import { bootstrapSigner } from "./bootstrap/bootstrap-signer.ts";
import { bootstrapTokenCleaner } from "./bootstrap/bootstrap-token-cleaner.ts";
import { bootstrapTokens } from "./bootstrap/bootstrap-tokens.ts";
import { nodeLifecycle } from "./node-lifecycle.ts";
import { nodeLockRule } from "./lock/node-lock-rule.ts";
import { lockedNodes, nodeLocks } from "./lock/node-locks.ts";
import type { LockedNodes } from "./lock/node-locks.ts";
import { nodeAuthorizer } from "./node-authorizer.ts";
import { nodeObjects } from "./node-objects.ts";
import { csiNodes } from "./nodes/csi-nodes.ts";
import { nodes } from "./nodes/nodes.ts";
import { answerEviction } from "./pods/eviction.ts";
import { podGarbageCollector } from "./pods/pod-garbage-collector.ts";
import { pods } from "./pods/pods.ts";
import { nodeLockResource, nodeResource, podResource } from "./resources.ts";
import type { NodeSettings } from "./settings.ts";
import { nodeRestriction } from "./restriction/node-restriction.ts";

/** Nodes and Pods, the permissions of node agents, and the bootstrap tokens of new machines. */
export const nodeKinds = [kind(csiNodes), kind(nodeLocks), kind(nodes), kind(pods)] as const;

/** The node authorizer: a node may read what its Pods refer to. */
export const connectNodeAuthorizer = (names: Names, stores: Stores): AuthorizerInMemory =>
  nodeAuthorizer({ names, objects: nodeObjects(names, stores), rules: systemNodeRules(names) });

const systemNodeRules = (names: Names) =>
  bootstrapPolicy(names).clusterRoles.find(({ metadata }) => metadata.name === "system:node")?.rules ?? [];

interface NodesConnection {
  readonly names: Names;
  readonly clock: Clock;
  readonly stores: Stores;
  readonly authorize: Authorize;
  readonly certifiesNodes: (signerName: string) => boolean;
  readonly joinsNodes: (signerName: string) => boolean;
  /** A client that may do everything. Called only while a request is answered. */
  readonly client: () => ApiClient;
}

export interface ConnectedNodes {
  readonly admission: Readonly<Record<"nodeRestriction" | "nodeLock" | "bootstrapToken", AdmissionRule>>;
  readonly locked: LockedNodes;
  /** Calls `listener` whenever a machine has been locked out. */
  onLocked(listener: () => void): void;
  readonly findBootstrapToken: (token: string) => UserInfo | undefined;
}

export function connectNodes(connection: NodesConnection): ConnectedNodes {
  const { names, clock, stores, authorize, certifiesNodes, joinsNodes, client } = connection;
  const locked = lockedNodes(stores);
  const pods = stores.of(podResource);
  pods.answerSubresource("eviction", answerEviction(pods));
  return {
    admission: {
      nodeRestriction: nodeRestriction({
        names,
        authorize,
        certifiesNodes,
        findPod: (namespace, name) => stores.findCurrent(podResource, { namespace, name }),
        findNode: (name) => stores.findCurrent(nodeResource, { namespace: "", name }),
      }),
      nodeLock: nodeLockRule(names, locked),
      bootstrapToken: bootstrapRule({
        names,
        findSecret: (name) => stores.findCurrent(secretResource, { namespace: names.namespaces.system, name }),
        nodeExists: async (name) => (await stores.findCurrent(nodeResource, { namespace: "", name })) !== undefined,
        joinsNodes,
        client,
      }),
    },
    locked,
    onLocked: (listener) =>
      followRegistry(stores.of(nodeLockResource), {
        onLoaded: listener,
        onEvent: ({ type }) => {
          if (type === "put") listener();
        },
      }),
    findBootstrapToken: bootstrapTokens({
      names,
      clock,
      findSecret: (name) => stores.of(secretResource).peek({ namespace: names.namespaces.system, name })?.object,
      isLocked: (node) => locked.isLocked(node),
    }),
  };
}

export const nodeControllers = (settings: NodeSettings): readonly Controller[] => [
  bootstrapSigner,
  bootstrapTokenCleaner,
  nodeLifecycle(settings),
  podGarbageCollector,
];
