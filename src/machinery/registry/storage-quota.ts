import { forbidden } from "../api/api-error.ts";
import type { ApiError } from "../api/api-error.ts";
import type { GroupResource } from "../api/resource-type.ts";
import type { UserInfo } from "../api/user-info.ts";
import { LongWork } from "../scheduling/long-work.ts";
import { sharerOf } from "../scheduling/share-path.ts";
import type { GroupSizes } from "../storage/group-sizes.ts";

export interface StorageQuotaOptions {
  /** How many bytes the stored objects of one group may take. */
  readonly maximumBytes: number;
  /** Whether a user may write beyond it. */
  isExempt(user: UserInfo): boolean;
  /** Called for each refused write, on the request path. */
  onExceeded(holder: QuotaHolder): void;
}

/** Who has as much as they may. */
export interface QuotaHolder {
  readonly type: "namespace" | "user";
  readonly name: string;
}

/** A write that makes the value of a key longer. */
export interface Growth {
  /** A namespace, or what `quotaGroupOfUser` returns. */
  readonly group: string;
  readonly key: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly resource: GroupResource;
  readonly kind: KindSizes;
  /** How many bytes it takes more than before. */
  readonly bytes: number;
}

/** How many bytes the objects of one kind take in each group, with those that this process is writing. */
export interface KindSizes {
  /** The part of a group that they may take. */
  readonly share: number;
  /** The sizes of its objects now. Undefined: they are not counted. */
  current(): GroupSizes | undefined;
}

/** No namespace has a slash in its name. */
const userPrefix = "user/";

/** The group of what was made for a user: all service accounts of a namespace are one, since who can make one can make many. */
export const quotaGroupOfUser = (username: string): string => userPrefix + sharerOf(username);

/**
 * Bounds what one namespace holds, and what is stored in the cluster for one user: otherwise who may create one object could fill the
 * memory and the disk of the server. The sizes follow the copies in memory, so they count what other processes have written too, but
 * not what those are writing.
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
  check(growth: Growth): void {
    const { group, key, kind, bytes } = growth;
    const { maximumBytes } = this.#options;
    // Only one of the writes of a key succeeds. The store tells the others so, not the quota.
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

  /** What the fullest group holds, as a part of what one may hold. Looks at all of them, in turns. */
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
  /** What is counted, as messages name it. */
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
