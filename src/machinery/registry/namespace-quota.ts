import { forbidden } from "../api/api-error.ts";
import type { ApiError, Named } from "../api/api-error.ts";
import type { UserInfo } from "../api/user-info.ts";
import type { GroupSizes } from "../storage/group-sizes.ts";
import type { ObjectName } from "./storage-key.ts";

export interface NamespaceQuotaOptions {
  /** How many bytes the stored objects of one namespace may take. */
  readonly maximumBytes: number;
  /** Whether a user may write beyond it. */
  isExempt(user: UserInfo): boolean;
  /** Called for each refused write with its namespace, on the request path. */
  onExceeded(namespace: string): void;
}

/** A write that makes the value of a key longer. */
export interface Growth extends ObjectName {
  readonly user: UserInfo;
  readonly resource: Named;
  readonly kind: KindSizes;
  /** How many bytes it takes more than before. */
  readonly bytes: number;
}

/** How many bytes the objects of one kind take in each namespace, with those that this process is writing. */
export interface KindSizes {
  /** The part of a namespace that they may take. */
  readonly share: number;
  /** As they are now. Undefined: they are not counted. */
  current(): GroupSizes | undefined;
}

/**
 * Bounds what one namespace holds: otherwise who may write to one could fill the memory and the disk of the server. The sizes follow the
 * copies in memory, so they count what other processes have written too, but not what those are writing.
 */
export class NamespaceQuota {
  readonly #options: NamespaceQuotaOptions;
  readonly #kinds: KindSizes[] = [];

  constructor(options: NamespaceQuotaOptions) {
    this.#options = options;
  }

  /** Counts the objects of a kind. */
  add(kind: KindSizes): void {
    this.#kinds.push(kind);
  }

  /** Throws a 403 for a write that would exceed a limit, as upstream's quotas do. Call it right before the write. */
  check(growth: Growth): void {
    const { namespace, kind, bytes } = growth;
    const { maximumBytes } = this.#options;
    const used = this.#bytesIn(namespace);
    if (used + bytes > maximumBytes) this.#refuse(growth, { counted: "bytes", used, limit: maximumBytes });
    if (kind.share === 1) return;
    const limit = Math.floor(maximumBytes * kind.share);
    const usedByKind = kind.current()?.of(namespace) ?? 0;
    if (usedByKind + bytes <= limit) return;
    this.#refuse(growth, { counted: `${growth.resource.resource}.bytes`, used: usedByKind, limit });
  }

  #refuse(growth: Growth, limit: Limit): void {
    if (this.#options.isExempt(growth.user)) return;
    this.#options.onExceeded(growth.namespace);
    throw exceededQuota(growth, limit);
  }

  /** What the fullest namespace holds, as a part of what one may hold. Looks at all of them. Undefined: there is no limit. */
  largestFullness(): number | undefined {
    const { maximumBytes } = this.#options;
    if (maximumBytes === Infinity) return undefined;
    const namespaces = new Set(this.#kinds.flatMap((kind) => [...(kind.current()?.groups() ?? [])]));
    let largest = 0;
    for (const namespace of namespaces) largest = Math.max(largest, this.#bytesIn(namespace));
    return largest / maximumBytes;
  }

  #bytesIn(namespace: string): number {
    let bytes = 0;
    for (const kind of this.#kinds) bytes += kind.current()?.of(namespace) ?? 0;
    return bytes;
  }
}

interface Limit {
  /** What is counted, as messages name it. */
  readonly counted: string;
  readonly used: number;
  readonly limit: number;
}

/** Upstream: the message of its admission plugin `ResourceQuota`. */
function exceededQuota({ resource, namespace, name, bytes }: Growth, { counted, used, limit }: Limit): ApiError {
  const numbers = `requested: ${counted}=${bytes}, used: ${counted}=${used}, limited: ${counted}=${limit}`;
  const advice = `delete objects in the namespace ${JSON.stringify(namespace)}, or raise the limit`;
  return forbidden(resource, { name, message: `exceeded quota: max-namespace-bytes, ${numbers}: ${advice}` });
}
