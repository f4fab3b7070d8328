import { ApiError } from "../api/api-error.ts";
import { microTimestamp } from "../api/clock.ts";
import type { Clock, Schedule } from "../api/clock.ts";
import type { ResourceClient } from "../client/api-client.ts";
import type { ApiObject } from "../api/object-meta.ts";
import { OutageReport } from "../logging/outage-report.ts";
import type { Log } from "../logging/log.ts";

/** What an election reads and writes of a Lease (upstream: `coordination/v1`). */
export interface ElectionLease extends ApiObject {
  spec: {
    acquireTime?: string;
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    leaseTransitions?: number;
    renewTime?: string;
  };
}

export interface LeaderElectionOptions {
  readonly leases: ResourceClient<ElectionLease>;
  readonly leaseName: string;
  /** Unique among all candidates, including earlier runs of the same process. */
  readonly identity: string;
  /** Gives the times that are written into the Lease. */
  readonly clock: Clock;
  /** Measures durations: it never jumps. With a clock that is set back, a lease that nobody renews would not expire. */
  readonly monotonic: Clock;
  readonly schedule: Schedule;
  readonly log: Pick<Log, "info" | "error">;
  /**
   * Whether a holder is known to have ended, so that candidates need not wait until its lease expires. Default:
   * unknown.
   */
  readonly hasHolderEnded?: (identity: string) => boolean;
  /** Called whenever this candidate becomes the leader. */
  readonly onElected: () => void;
  /** Called whenever this candidate stops being the leader. It competes again only after this resolves. */
  readonly onDeposed: () => Promise<void>;
}

/** A holder that has not renewed its lease for this long has lost it. */
const leaseDurationSeconds = 15;
/** A leader that could not renew for this long steps down, well before another candidate may take over. */
const renewDeadlineMilliseconds = 10_000;
const renewIntervalMilliseconds = 4_000;
/**
 * A lease that has not changed for this long has no candidate. A candidate sees the last change up to one turn late, and takes the lease
 * up to one turn after it has expired.
 */
export const longestRestMilliseconds = leaseDurationSeconds * 1000 + renewDeadlineMilliseconds;

/**
 * Uses a Lease to let one of several processes run the controllers (upstream: client-go's leader election). A free
 * lease is taken immediately. Clocks of different machines are never compared: a lease has expired when this process has seen
 * no change of it for the lease's duration.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  readonly #outage: OutageReport;
  /** The Lease in the server's last answer. */
  #lease: ElectionLease | undefined;
  #observed = { version: "", at: 0 };
  #isLeading = false;
  #isStopped = false;
  #cancelNext: () => void = () => {};
  #cancelDeadline: () => void = () => {};
  #work: Promise<void> = Promise.resolve();
  #deposing: Promise<void> = Promise.resolve();

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
    const { log, leaseName: lease } = options;
    this.#outage = new OutageReport({
      onFailure: (error) => log.error({ lease, error }, "the lease cannot be read or renewed, will try again"),
      onRecovery: () => log.info({ lease }, "the lease can be read and renewed again"),
    });
  }

  /** Competes for the lease until `stop`. */
  start(): void {
    this.#work = this.#work.then(() => this.#turn());
  }

  /** Steps down and releases the lease, so that another candidate can take it immediately. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelNext();
    await this.#work;
    const held = this.#isLeading ? this.#lease : undefined;
    await this.#stepDown();
    if (held === undefined) return;
    const spec = { ...held.spec, holderIdentity: "", leaseDurationSeconds: 1 };
    // If the release fails, the lease expires by itself.
    await this.#options.leases.update({ ...held, spec }).catch(() => {});
  }

  async #turn(): Promise<void> {
    if (this.#isStopped) return;
    const { monotonic, schedule, log, leaseName, identity, onElected } = this.#options;
    try {
      await this.#deposing; // a lease that is taken during this wait would not be renewed
      const startedAt = monotonic.now();
      if (await this.#takeOrRenew()) {
        await this.#deposing; // the deadline may have passed since the turn began
        this.#cancelDeadline();
        const left = renewDeadlineMilliseconds - (monotonic.now() - startedAt);
        this.#cancelDeadline = schedule(
          () => {
            this.#stepDown().catch((error: unknown) => this.#outage.failed(error));
          },
          Math.max(0, left),
        );
        if (!this.#isLeading && left > 0) {
          this.#isLeading = true;
          log.info({ lease: leaseName, identity }, "elected");
          onElected();
        }
      } else await this.#stepDown();
      this.#outage.succeeded();
    } catch (error) {
      this.#outage.failed(error);
    }
    if (this.#isStopped) return;
    this.#cancelNext = schedule(() => this.start(), renewIntervalMilliseconds);
  }

  /** Takes or renews the lease. Resolves with whether this candidate holds it now. Rejects when the server does not answer. */
  async #takeOrRenew(): Promise<boolean> {
    const { leases, leaseName } = this.#options;
    // Try with the known lease first. If it has changed, read it again.
    for (const known of this.#isLeading ? [this.#lease, undefined] : [undefined]) {
      const lease = known ?? (await leases.find(leaseName));
      if (lease !== undefined && !this.#isFree(lease)) return false;
      try {
        const mine = this.#claimed(lease);
        this.#lease = await (lease === undefined ? leases.create(mine) : leases.update(mine));
        return true;
      } catch (error) {
        // Another candidate was faster.
        if (!(error instanceof ApiError) || error.code !== 409) throw error;
      }
    }
    return false;
  }

  #isFree({ metadata, spec }: ElectionLease): boolean {
    const { identity, hasHolderEnded, monotonic } = this.#options;
    const now = monotonic.now();
    const { holderIdentity: holder = "", leaseDurationSeconds: duration = leaseDurationSeconds } = spec;
    const version = metadata.resourceVersion ?? "";
    if (version !== this.#observed.version) this.#observed = { version, at: now };
    if (holder === "" || holder === identity || hasHolderEnded?.(holder) === true) return true;
    return now >= this.#observed.at + duration * 1000;
  }

  #claimed(lease: ElectionLease | undefined): ElectionLease {
    const { identity, leaseName, clock } = this.#options;
    const time = microTimestamp(clock.now());
    const isMine = lease?.spec.holderIdentity === identity;
    const { acquireTime, leaseTransitions = -1 } = lease?.spec ?? {};
    return {
      apiVersion: "",
      kind: "Lease",
      ...lease,
      metadata: lease?.metadata ?? { name: leaseName },
      spec: {
        ...lease?.spec,
        holderIdentity: identity,
        leaseDurationSeconds,
        acquireTime: isMine && acquireTime !== undefined ? acquireTime : time,
        renewTime: time,
        leaseTransitions: isMine ? leaseTransitions : leaseTransitions + 1,
      },
    };
  }

  async #stepDown(): Promise<void> {
    this.#cancelDeadline();
    if (!this.#isLeading) return;
    this.#isLeading = false;
    const { log, leaseName, identity, onDeposed } = this.#options;
    log.info({ lease: leaseName, identity }, "no longer the leader");
    this.#deposing = onDeposed();
    await this.#deposing;
  }
}
