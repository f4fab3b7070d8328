import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import type { ResourceClient } from "../../../src/machinery/client/api-client.ts";
import { LeaderElection } from "../../../src/machinery/loops/leader-election.ts";
import type { LeaderElectionOptions } from "../../../src/machinery/loops/leader-election.ts";
import type { Lease } from "../../../src/features/core/leases.ts";

/** A server with one lease, and clocks that only the test moves. */
class Scene {
  lease: Lease | undefined;
  isDown = false;
  refusesWrites = false;
  /** The server answers no request before this. */
  answersAfter: Promise<void> | undefined;
  now = Date.parse("2026-03-04T05:06:07Z");
  #elapsed = 0;
  #version = 0;
  #timers: { at: number; run: () => void }[] = [];

  readonly #leases = {
    find: async () => this.#answer(() => this.lease),
    create: async (lease: Lease) => this.#answer(() => this.#write(lease, undefined)),
    update: async (lease: Lease) => this.#answer(() => this.#write(lease, lease.metadata.resourceVersion)),
  };

  async #answer<T>(answer: () => T): Promise<T> {
    await this.answersAfter;
    if (this.isDown) throw new Error("connection refused");
    return answer();
  }

  #write(lease: Lease, version: string | undefined): Lease {
    if (this.refusesWrites) throw new ApiError({ code: 503, message: "the disk is full" });
    if (this.lease?.metadata.resourceVersion !== version) throw new ApiError({ code: 409, message: "conflict" });
    this.lease = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(++this.#version) } };
    return this.lease;
  }

  /** `onDeposed`: called after the event is noted. */
  candidate(identity: string, { onDeposed, ...more }: Partial<LeaderElectionOptions> = {}) {
    const events: string[] = [];
    const election = new LeaderElection({
      // The three methods that an election calls.
      leases: this.#leases as unknown as ResourceClient<Lease>,
      leaseName: "loops",
      identity,
      clock: { now: () => this.now },
      monotonic: { now: () => this.#elapsed },
      schedule: (run, milliseconds) => {
        const timer = { at: this.#elapsed + milliseconds, run };
        this.#timers.push(timer);
        return () => (this.#timers = this.#timers.filter((one) => one !== timer));
      },
      log: { info: () => {}, error: () => {} },
      onElected: () => events.push("elected"),
      onDeposed: async () => {
        events.push("deposed");
        await onDeposed?.();
      },
      ...more,
    });
    return { election, events, isLeading: () => events.at(-1) === "elected" };
  }

  /** Lets time pass, second by second, and everything that falls due run to its end. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      this.now += 1000;
      this.#elapsed += 1000;
      const due = this.#timers.filter(({ at }) => at <= this.#elapsed);
      this.#timers = this.#timers.filter(({ at }) => at > this.#elapsed);
      for (const { run } of due) run();
      await settle();
    }
  }
}

/** Every promise that can continue has done so. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 30; turn++) await Promise.resolve();
};

describe("a leader election", () => {
  it("gives a free lease at once, and only to one candidate", async () => {
    const scene = new Scene();
    const [one, other] = [scene.candidate("one"), scene.candidate("other")];
    one.election.start();
    other.election.start();
    await settle();
    assert.deepEqual([one.events, other.events], [["elected"], []]);
    await scene.pass(120);
    assert.deepEqual([one.events, other.events], [["elected"], []]);
    assert.equal(scene.lease?.spec.leaseTransitions, 0);
    await other.election.stop();
    assert.deepEqual(other.events, []);
    assert.equal(scene.lease?.spec.holderIdentity, "one");
  });

  it("keeps a leader that cannot renew for a moment", async () => {
    const scene = new Scene();
    const { election, events } = scene.candidate("one");
    election.start();
    await settle();
    scene.refusesWrites = true;
    await scene.pass(6);
    scene.refusesWrites = false;
    await scene.pass(60);
    assert.deepEqual(events, ["elected"]);
  });

  it("passes the lease on as soon as its holder stops", async () => {
    const scene = new Scene();
    const [one, other] = [scene.candidate("one"), scene.candidate("other")];
    one.election.start();
    other.election.start();
    await settle();
    await one.election.stop();
    assert.deepEqual(one.events, ["elected", "deposed"]);
    await scene.pass(5);
    assert.deepEqual(other.events, ["elected"]);
    assert.equal(scene.lease?.spec.leaseTransitions, 1);
  });

  it("passes the lease on only when the work of its holder has ended", async () => {
    const scene = new Scene();
    const ended = Promise.withResolvers<void>();
    const one = scene.candidate("one", { onDeposed: () => ended.promise });
    one.election.start();
    await settle();
    const stopped = one.election.stop();
    await settle();
    assert.deepEqual(one.events, ["elected", "deposed"]);
    assert.equal(scene.lease?.spec.holderIdentity, "one");
    ended.resolve();
    await stopped;
    assert.equal(scene.lease?.spec.holderIdentity, "");
  });

  it("gives back the lease that a candidate takes while it stops, and the candidate takes it no more", async () => {
    const scene = new Scene();
    const answered = Promise.withResolvers<void>();
    scene.answersAfter = answered.promise;
    const one = scene.candidate("one");
    one.election.start();
    await settle();
    const stopped = one.election.stop();
    answered.resolve();
    await stopped;
    await scene.pass(60);
    assert.ok(!one.isLeading());
    assert.equal(scene.lease?.spec.holderIdentity, "");
  });

  it("keeps the time since when a holder has the lease while it renews, and not beyond", async () => {
    const scene = new Scene();
    const [one, other] = [scene.candidate("one"), scene.candidate("other")];
    one.election.start();
    await settle();
    const first = scene.lease?.spec;
    await scene.pass(20);
    assert.equal(scene.lease?.spec.acquireTime, first?.acquireTime);
    assert.notEqual(scene.lease?.spec.renewTime, first?.renewTime);
    await one.election.stop();
    other.election.start();
    await settle();
    const { holderIdentity, acquireTime, renewTime } = scene.lease?.spec ?? {};
    assert.equal(holderIdentity, "other");
    assert.equal(acquireTime, renewTime);
  });

  it("elects nobody by an answer that comes when the lease would already have to be renewed again", async () => {
    for (const [milliseconds, heard] of [
      [9_999, ["elected"]],
      [10_000, []],
    ] as const) {
      let elapsed = 0;
      const slow = {
        find: async () => undefined,
        create: async (lease: Lease) => {
          elapsed += milliseconds;
          return lease;
        },
      };
      const { election, events } = new Scene().candidate("one", {
        // The two methods that a first turn calls.
        leases: slow as unknown as ResourceClient<Lease>,
        monotonic: { now: () => elapsed },
      });
      election.start();
      await settle();
      assert.deepEqual(events, heard);
    }
  });

  it("takes over the lease of a holder that did not renew it in time, by its own clock", async () => {
    const scene = new Scene();
    // The holder's clock is hours ahead: its times must not matter.
    scene.lease = {
      apiVersion: "",
      kind: "Lease",
      metadata: { name: "loops", resourceVersion: "1000" },
      spec: { holderIdentity: "silent", leaseDurationSeconds: 15, renewTime: "2026-03-04T09:00:00.000000Z" },
    };
    const other = scene.candidate("other");
    other.election.start();
    await settle();
    await scene.pass(14);
    assert.deepEqual(other.events, []);
    await scene.pass(5);
    assert.deepEqual(other.events, ["elected"]);
  });

  for (const [direction, hours] of [
    ["forward", 1],
    ["back", -1],
  ] as const) {
    it(`takes over after the duration of the lease when the clock is set ${direction} meanwhile, not earlier or later`, async () => {
      const scene = new Scene();
      scene.lease = {
        apiVersion: "",
        kind: "Lease",
        metadata: { name: "loops", resourceVersion: "1000" },
        spec: { holderIdentity: "silent", leaseDurationSeconds: 15 },
      };
      const other = scene.candidate("other");
      other.election.start();
      await settle();
      scene.now += hours * 3_600_000;
      await scene.pass(14);
      assert.deepEqual(other.events, []);
      await scene.pass(5);
      assert.deepEqual(other.events, ["elected"]);
    });
  }

  it("does not wait for a holder that is known to be gone", async () => {
    const scene = new Scene();
    scene.lease = {
      apiVersion: "",
      kind: "Lease",
      metadata: { name: "loops" },
      spec: { holderIdentity: "dead", leaseDurationSeconds: 15 },
    };
    const one = scene.candidate("one", { hasHolderEnded: (identity) => identity === "dead" });
    one.election.start();
    await settle();
    assert.deepEqual(one.events, ["elected"]);
  });

  it("deposes a leader that cannot renew, before another candidate may take over", async () => {
    const scene = new Scene();
    const [one, other] = [scene.candidate("one"), scene.candidate("other")];
    one.election.start();
    other.election.start();
    await settle();
    scene.isDown = true;
    await scene.pass(9);
    assert.deepEqual(one.events, ["elected"]);
    await scene.pass(1);
    assert.deepEqual(one.events, ["elected", "deposed"]);
    scene.isDown = false;
    await scene.pass(4);
    const leaders = [one, other].filter(({ isLeading }) => isLeading());
    assert.ok(leaders.length <= 1);
  });

  it("tells once that the lease cannot be renewed, and once that it can be again", async () => {
    const scene = new Scene();
    const told: string[] = [];
    const log = {
      info: (_: object, message: string) => void told.push(message),
      error: ({ error }: Record<string, unknown>, message: string) => void told.push(`${message}: ${String(error)}`),
    };
    const { election } = scene.candidate("one", { log });
    election.start();
    await settle();
    scene.isDown = true;
    await scene.pass(60);
    scene.isDown = false;
    await scene.pass(4);
    assert.deepEqual(told, [
      "elected",
      "the lease cannot be read or renewed, will try again: connection refused",
      "no longer the leader",
      "elected",
      "the lease can be read and renewed again",
    ]);
  });

  it("does not elect a candidate whose work of an earlier term ended only after another has taken the lease", async () => {
    const scene = new Scene();
    const ended = Promise.withResolvers<void>();
    const [one, other] = [scene.candidate("one", { onDeposed: () => ended.promise }), scene.candidate("other")];
    one.election.start();
    other.election.start();
    await settle();
    scene.isDown = true;
    await scene.pass(11);
    scene.isDown = false;
    await scene.pass(30);
    assert.deepEqual(other.events, ["elected"]);
    ended.resolve();
    await settle();
    assert.deepEqual(one.events, ["elected", "deposed"]);
    await scene.pass(60);
    assert.deepEqual([one.isLeading(), other.isLeading()], [false, true]);
  });

  it("gives no lease to a candidate whose work of an earlier term continues", async () => {
    const scene = new Scene();
    const one = scene.candidate("one", { onDeposed: () => new Promise(() => {}) });
    one.election.start();
    await settle();
    scene.isDown = true;
    await scene.pass(11);
    const held = scene.lease;
    scene.isDown = false;
    await scene.pass(30);
    assert.equal(scene.lease, held);
  });

  it("elects a leader that renews only after it was deposed once the work of its term has ended", async () => {
    const scene = new Scene();
    const ended = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<void>();
    const one = scene.candidate("one", { onDeposed: () => ended.promise });
    one.election.start();
    await scene.pass(5);
    scene.answersAfter = answered.promise;
    await scene.pass(10);
    answered.resolve();
    await settle();
    assert.deepEqual(one.events, ["elected", "deposed"]);
    ended.resolve();
    await settle();
    assert.deepEqual(one.events, ["elected", "deposed", "elected"]);
  });

  it("deposes a leader that is elected after slow work of its earlier term, when it cannot renew", async () => {
    const scene = new Scene();
    let ended = Promise.withResolvers<void>();
    const one = scene.candidate("one", { onDeposed: () => ended.promise });
    one.election.start();
    await settle();
    scene.isDown = true;
    await scene.pass(11);
    scene.isDown = false;
    await scene.pass(12);
    ended.resolve();
    await scene.pass(4);
    assert.deepEqual(one.events, ["elected", "deposed", "elected"]);
    ended = Promise.withResolvers();
    scene.isDown = true;
    await scene.pass(11);
    assert.ok(!one.isLeading());
  });

  it("deposes a leader whose lease another has taken", async () => {
    const scene = new Scene();
    const one = scene.candidate("one");
    one.election.start();
    await settle();
    assert.ok(scene.lease);
    scene.lease = {
      ...scene.lease,
      metadata: { name: "loops", resourceVersion: "1000" },
      spec: { ...scene.lease.spec, holderIdentity: "usurper" },
    };
    await scene.pass(5);
    assert.deepEqual(one.events, ["elected", "deposed"]);
  });

  it("keeps a leader whose lease was labelled", async () => {
    const scene = new Scene();
    const one = scene.candidate("one");
    one.election.start();
    await settle();
    assert.ok(scene.lease);
    scene.lease = { ...scene.lease, metadata: { name: "loops", resourceVersion: "1000", labels: { a: "b" } } };
    await scene.pass(60);
    assert.deepEqual(one.events, ["elected"]);
    assert.deepEqual(scene.lease?.metadata.labels, { a: "b" });
  });
});
