import { isDeepStrictEqual } from "node:util";
import type { Names } from "../../machinery/api/names.ts";
import type { Certificate } from "../../pki/certificate.ts";
import { encodePem } from "../../pki/pem.ts";
import { PkiError } from "../../pki/pki-error.ts";
import { parseCertificatesPem } from "../../pki/trust-anchors.ts";
import type { FrontProxyHeaders } from "./credentials/front-proxy.ts";
import { rbacBuilder } from "./policy/rbac-builder.ts";
import type { Role } from "./rbac/roles.ts";
import type { Clock } from "../../machinery/api/clock.ts";
import { periodically } from "../../machinery/scheduling/periodically.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import { followRegistry } from "../../machinery/registry/follow-registry.ts";
import { storageKey } from "../../machinery/registry/storage-key.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { configMapResource } from "../core/index.ts";
import { reconcileRole } from "./policy/reconcile-policy.ts";
import { roleResource } from "./resources.ts";

/**
 * The ConfigMap where extension API servers find the CAs to trust. Its name is built into clients, so it is the same in
 * both profiles.
 */
const delegatedAuthenticationName = "extension-apiserver-authentication";

/** The CAs and proxy settings of this server, for programs that authenticate in the same way. */
interface DelegatedAuthentication {
  readonly clientAuthorities: readonly Certificate[];
  /** Undefined: no front proxy is trusted. */
  readonly frontProxy:
    | {
        readonly authorities: readonly Certificate[];
        readonly allowedNames: readonly string[];
        readonly headers: FrontProxyHeaders;
      }
    | undefined;
}

interface PublishedBefore {
  /** Data of the ConfigMap as it is. */
  readonly data: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * The data of the ConfigMap (upstream: `clusterauthenticationtrust`). With `before`, what other servers on the same store have
 * published stays until its certificates end, as in upstream: they may have other settings.
 */
export function delegatedAuthenticationData(
  { clientAuthorities, frontProxy }: DelegatedAuthentication,
  before?: PublishedBefore,
): Record<string, string> {
  const bundle = (key: string, own: readonly Certificate[]): Record<string, string> => {
    const all = [...keptCertificates(key, before), ...own];
    // All replicas must leave out the same certificates: otherwise each would undo the others' writes.
    const text = distinctPem(before === undefined ? all : all.filter(({ notAfter }) => notAfter > before.now));
    return text === "" ? {} : { [key]: text };
  };
  const list = (key: string, own: readonly string[]): Record<string, string> => ({
    [key]: JSON.stringify([...new Set([...keptNames(key, before), ...own])]),
  });
  const proxyBundle = bundle("requestheader-client-ca-file", frontProxy?.authorities ?? []);
  const headers = frontProxy?.headers;
  return {
    ...bundle("client-ca-file", clientAuthorities),
    ...(Object.keys(proxyBundle).length > 0 && {
      ...proxyBundle,
      ...list("requestheader-allowed-names", frontProxy?.allowedNames ?? []),
      ...list("requestheader-username-headers", (headers?.usernameHeaders ?? []).map(canonicalHeader)),
      ...list("requestheader-uid-headers", (headers?.uidHeaders ?? []).map(canonicalHeader)),
      ...list("requestheader-group-headers", (headers?.groupHeaders ?? []).map(canonicalHeader)),
      ...list("requestheader-extra-headers-prefix", (headers?.extraHeaderPrefixes ?? []).map(canonicalHeader)),
    }),
  };
}

const distinctPem = (certificates: readonly Certificate[]): string =>
  [...new Set(certificates.map(({ der }) => encodePem("CERTIFICATE", der)))].join("");

function keptCertificates(key: string, before: PublishedBefore | undefined): readonly Certificate[] {
  if (before === undefined) return [];
  try {
    return parseCertificatesPem(before.data[key] ?? "");
  } catch (error) {
    if (error instanceof PkiError) return [];
    throw error;
  }
}

function keptNames(key: string, before: PublishedBefore | undefined): readonly string[] {
  try {
    const kept: unknown = JSON.parse(before?.data[key] ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

/** A header name as Go writes it, such as `X-Remote-User`. */
const canonicalHeader = (name: string): string => name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase());

/** Who is bound to this role may read the ConfigMap (upstream's role of the same name). */
function delegatedAuthenticationReader(names: Names): Role {
  const { role, ruleIn } = rbacBuilder(names);
  const configMaps = ruleIn("")(["get", "list", "watch"], ["configmaps"]);
  return role({ name: "extension-apiserver-authentication-reader", namespace: names.namespaces.system }, [
    { ...configMaps, resourceNames: [delegatedAuthenticationName] },
  ]);
}

interface PublishDelegatedAuthenticationOptions {
  readonly names: Names;
  readonly stores: Stores;
  /** May do everything. */
  readonly client: ApiClient;
  readonly clock: Clock;
  /** Asked each time: CAs change while the server runs. */
  readonly current: () => DelegatedAuthentication;
  /** Whether replicas, which may have other settings, write to the same store. */
  readonly hasReplicas: boolean;
}

export interface DelegatedAuthenticationPublisher {
  /** Makes the ConfigMap and its role what they should be. Where nothing is missing it only reads memory. */
  publish(): Promise<void>;
  /** Publishes again when the ConfigMap or a CA has changed. */
  follow(onFailure: (error: unknown) => void): { stop(): void };
}

const pollMilliseconds = 10_000;
/**
 * Changes by others are undone at once, but only this many times until the next look. Otherwise this server and another
 * writer, such as a replica with other settings, would overwrite each other without a pause.
 */
const maximumWritesBetweenPolls = 5;

export function delegatedAuthenticationPublisher({
  names,
  stores,
  client,
  clock,
  current,
  hasReplicas,
}: PublishDelegatedAuthenticationOptions): DelegatedAuthenticationPublisher {
  const where = { namespace: names.namespaces.system, name: delegatedAuthenticationName };
  let writesSincePoll = 0;

  const publishConfigMap = async (): Promise<void> => {
    const configMaps = client.resource(configMapResource(names), where.namespace);
    const existing = stores.of(configMapResource).peek(where)?.object;
    const before = { data: existing?.data ?? {}, now: clock.now() };
    const data = delegatedAuthenticationData(current(), hasReplicas ? before : undefined);
    if (existing !== undefined && isDeepStrictEqual(existing.data, data)) return;
    writesSincePoll += 1;
    if (existing === undefined) {
      await configMaps.create({ apiVersion: "v1", kind: "ConfigMap", metadata: where, data });
    } else {
      await configMaps.update({ ...existing, data });
    }
  };
  const publishRole = async (): Promise<void> => {
    const wanted = delegatedAuthenticationReader(names);
    const roles = client.resource(roleResource(names), where.namespace);
    const { name = "" } = wanted.metadata;
    const existing = stores.of(roleResource).peek({ ...where, name })?.object;
    const next = existing && reconcileRole(existing, { wanted, names });
    if (existing === undefined) await roles.create(wanted);
    else if (next !== undefined) await roles.update(next);
  };

  return {
    async publish() {
      await publishConfigMap();
      await publishRole();
    },
    follow(onFailure) {
      let isStopped = false;
      const publish = async (): Promise<void> => {
        if (!isStopped) await publishConfigMap();
      };
      const registry = stores.of(configMapResource);
      const key = storageKey(registry.definition, where);
      followRegistry(registry, {
        onLoaded: () => undefined,
        onEvent: (event) => {
          if (event.key === key && writesSincePoll < maximumWritesBetweenPolls) publish().catch(onFailure);
        },
      });
      const poll = async (): Promise<void> => {
        writesSincePoll = 0;
        await publish();
      };
      const polling = periodically({ milliseconds: pollMilliseconds, task: poll, onFailure });
      return {
        stop() {
          isStopped = true;
          polling.stop();
        },
      };
    },
  };
}
