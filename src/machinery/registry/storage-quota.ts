import { forbidden } from "../api/api-error.ts";
import type { ApiError } from "../api/api-error.ts";
import type { GroupResource } from "../api/resource-type.ts";
import type { UserInfo } from "../api/user-info.ts";
import { LongWork } from "../scheduling/long-work.ts";
import { sharerOf } from "../scheduling/share-path.ts";
import type { GroupSizes } from "../storage/watch-cache/group-sizes.ts";

export interface StorageQuotaOptions {
  /** How many bytes the stored objects of one group may take. */
  readonly maximumBytes: number;
  /** Whether a user may write beyond the limit. */
  isExempt(user: UserInfo): boolean;
  /** Called for each refused write, on the request path. */
  onExceeded(holder: QuotaHolder): void;
}

/** The namespace or the user whose quota is used up. */
export interface QuotaHolder {
  readonly type: "namespace" | "user";
  readonly name: string;
}

/** A write that makes the value of a key longer. */
export interface Growth {
  /** The group that the bytes count for: a namespace, or a result of `quotaGroupOfUser`. */
  readonly group: string;
  readonly key: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly resource: GroupResource;
  readonly kind: KindSizes;
  /** By how many bytes the value becomes longer. */
  readonly bytes: number;
}

/** The bytes of the objects of one kind in each group, including the running writes of this process. */
export interface KindSizes {
  /** The part of a group's quota that the kind's objects may take. */
  readonly share: number;
  /** The current sizes of the kind's objects. Undefined: they are not counted. */
  current(): GroupSizes | undefined;
}

/** The prefix of groups of users. It is different from any namespace, because these have no slash. */
const userPrefix = "user/";

/** The group of a user. All service accounts of a namespace share one, because a user who can create one can create many. */
export const quotaGroupOfUser = (username: string): string => userPrefix + sharerOf(username);

/**
 * Limits the bytes of one namespace's objects, and of cluster-scoped objects for one user: otherwise a user who may create one object could
 * fill the memory and the disk of the server. The sizes are those of the caches, so they include finished writes of other processes, but
 * not their running writes.
 */
export class StorageQuota {
  readonly #options: StorageQuotaOptions;
  readonly #kinds: KindSizes[] = [];

  constructor(options: StorageQuotaOptions) {
    this.#options = options;
  }

  /** Counts the objects of a kind. */
  add(kind: KindSizes): void {
    this.#kinds.push(kind);
  }

  /** Throws a 403 for a write that would exceed a limit, as upstream's quotas do. Call it right before the write. */
  requireRoom(growth: Growth): void {
    const { group, key, kind, bytes } = growth;
    const { maximumBytes } = this.#options;
    // Running writes of this key don't count, because only one write of the key succeeds: the store refuses the others, not the quota.
    const reserved = kind.current()?.reservedFor({ group, key }) ?? 0;
    const used = this.#bytesIn(group) - reserved;
    if (used + bytes > maximumBytes) this.#refuse(growth, { counted: "bytes", used, limit: maximumBytes });
    if (kind.share === 1) return;
    const limit = Math.floor(maximumBytes * kind.share);
    const usedByKind = (kind.current()?.of(group) ?? 0) - reserved;
    if (usedByKind + bytes <= limit) return;
    this.#refuse(growth, { counted: `${growth.resource.resource}.bytes`, used: usedByKind, limit });
  }

  #refuse(growth: Growth, limit: Limit): void {
    if (this.#options.isExempt(growth.user)) return;
    this.#options.onExceeded(holderOf(growth.group));
    throw exceededQuota(growth, limit);
  }

  /** Resolves with the bytes of the fullest group divided by the limit. Reads all groups, in turns. */
  async largestFullness(): Promise<number> {
    const bytes = new Map<string, number>();
    const work = new LongWork();
    let largest = 0;
    for (const kind of this.#kinds) {
      for (const [group, bytesOfKind] of kind.current()?.entries() ?? []) {
        const sum = (bytes.get(group) ?? 0) + bytesOfKind;
        bytes.set(group, sum);
        largest = Math.max(largest, sum);
        const pause = work.pause();
        if (pause !== undefined) await pause;
      }
    }
    return largest / this.#options.maximumBytes;
  }

  #bytesIn(group: string): number {
    let bytes = 0;
    for (const kind of this.#kinds) bytes += kind.current()?.of(group) ?? 0;
    return bytes;
  }
}

interface Limit {
  /** The name of the limited resource in messages. */
  readonly counted: string;
  readonly used: number;
  readonly limit: number;
}

const holderOf = (group: string): QuotaHolder =>
  group.startsWith(userPrefix)
    ? { type: "user", name: group.slice(userPrefix.length) }
    : { type: "namespace", name: group };

const advices = {
  namespace: (name: string) => `delete objects in the namespace ${name}`,
  user: (name: string) => `delete what was made for the user ${name}, wait until it is removed`,
};

/** Upstream: the message of its admission plugin `ResourceQuota`. */
function exceededQuota({ resource, group, name, bytes }: Growth, { counted, used, limit }: Limit): ApiError {
  const numbers = `requested: ${counted}=${bytes}, used: ${counted}=${used}, limited: ${counted}=${limit}`;
  const holder = holderOf(group);
  const advice = `${advices[holder.type](JSON.stringify(holder.name))}, or raise the limit`;
  return forbidden(resource, { name, message: `exceeded quota: max-namespace-bytes, ${numbers}: ${advice}` });
}
