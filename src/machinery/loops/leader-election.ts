import { ApiError } from "../api/api-error.ts";
import type { Clock } from "../api/clock.ts";
import type { Schedule } from "../api/schedule.ts";
import type { ResourceClient } from "../client/api-client.ts";
import type { Lease } from "../../features/core/leases.ts";
import type { ControllerLog } from "./controller.ts";

export interface LeaderElectionOptions {
  readonly leases: ResourceClient<Lease>;
  readonly leaseName: string;
  /** Unique among all candidates, those of earlier starts included. */
  readonly identity: string;
  readonly clock: Clock;
  readonly schedule: Schedule;
  readonly log: ControllerLog;
  /** Whether a holder is known to be no more, so that nobody need wait for its lease to run out. Default: never known. */
  readonly isHolderGone?: (identity: string) => boolean;
  /** Called whenever this candidate becomes the leader. */
  readonly onElected: () => void;
  /** Called whenever it no longer is one. The next candidacy waits for it. */
  readonly onDeposed: () => Promise<void>;
}

/** A holder that has not renewed for this long has lost its lease. */
const leaseDurationSeconds = 15;
/** A leader that could not renew for this long steps down: well before anyone else may take over. */
const renewDeadlineMilliseconds = 10_000;
const renewIntervalMilliseconds = 4_000;

/**
 * Keeps a Lease so that of several processes one runs the loops (upstream: client-go's leader election). A free lease is
 * taken at once. Nobody's clock is compared with anyone else's: a lease has run out when it did not change for its duration
 * by this process' own clock.
 */
export class LeaderElection {
  readonly #options: LeaderElectionOptions;
  /** As the server last answered it. */
  #lease: Lease | undefined;
  #observed = { version: "", at: 0 };
  #isLeading = false;
  #isStopped = false;
  #cancelNext: () => void = () => {};
  #cancelDeadline: () => void = () => {};
  #work: Promise<void> = Promise.resolve();
  #deposing: Promise<void> = Promise.resolve();

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
  }

  get isLeading(): boolean {
    return this.#isLeading;
  }

  /** Stands for election until `stop`. */
  start(): void {
    this.#work = this.#work.then(() => this.#turn());
  }

  /** Steps down and gives the lease back, so that another may take it at once. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelNext();
    await this.#work;
    const held = this.#isLeading ? this.#lease : undefined;
    await this.#stepDown();
    if (held === undefined) return;
    const spec = { ...held.spec, holderIdentity: "", leaseDurationSeconds: 1 };
    // Who cannot give it back leaves it to run out.
    await this.#options.leases.update({ ...held, spec }).catch(() => {});
  }

  async #turn(): Promise<void> {
    if (this.#isStopped) return;
    const { clock, schedule, log, leaseName, identity, onElected } = this.#options;
    const startedAt = clock.now();
    try {
      if (await this.#takeOrRenew(startedAt)) {
        this.#cancelDeadline();
        const left = renewDeadlineMilliseconds - (clock.now() - startedAt);
        this.#cancelDeadline = schedule(
          () => {
            this.#stepDown().catch((error: unknown) => this.#tellFailure(error));
          },
          Math.max(0, left),
        );
        await this.#deposing;
        if (!this.#isLeading && left > 0) {
          this.#isLeading = true;
          log.info({ lease: leaseName, identity }, "elected");
          onElected();
        }
      } else if (this.#isLeading) await this.#stepDown();
    } catch (error) {
      this.#tellFailure(error);
    }
    if (this.#isStopped) return;
    this.#cancelNext = schedule(() => this.start(), renewIntervalMilliseconds);
  }

  #tellFailure(error: unknown): void {
    const { leaseName, log } = this.#options;
    log.error({ lease: leaseName, error: error instanceof Error ? error.message : String(error) }, "will try again");
  }

  /** Whether the lease is this candidate's now. Rejects when the server cannot be asked. */
  async #takeOrRenew(now: number): Promise<boolean> {
    const { leases, leaseName } = this.#options;
    // What is known is tried first; where it has changed behind our back, what is there now.
    for (const known of this.#isLeading ? [this.#lease, undefined] : [undefined]) {
      const lease = known ?? (await leases.find(leaseName));
      if (lease !== undefined && !this.#isFree(lease, now)) return false;
      try {
        const mine = this.#claimed(lease, now);
        this.#lease = await (lease === undefined ? leases.create(mine) : leases.update(mine));
        return true;
      } catch (error) {
        // Somebody else was first.
        if (!(error instanceof ApiError) || error.code !== 409) throw error;
      }
    }
    return false;
  }

  #isFree({ metadata, spec }: Lease, now: number): boolean {
    const { identity, isHolderGone } = this.#options;
    const { holderIdentity: holder = "", leaseDurationSeconds: duration = leaseDurationSeconds } = spec;
    const version = metadata.resourceVersion ?? "";
    if (version !== this.#observed.version) this.#observed = { version, at: now };
    if (holder === "" || holder === identity || isHolderGone?.(holder) === true) return true;
    return now >= this.#observed.at + duration * 1000;
  }

  #claimed(lease: Lease | undefined, now: number): Lease {
    const { identity, leaseName } = this.#options;
    const time = microTimestamp(now);
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

/** RFC 3339 with microseconds, as Leases have it. */
const microTimestamp = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, -1)}000Z`;
