import type { Operation } from "./operation.ts";
import type { SeededRandom } from "../seeded-random.ts";
import type { FollowedEvent } from "../watch-follower.ts";

/** The operations on one key, and the log of their changes. */
export interface History {
  readonly operations: readonly Operation[];
  readonly log: readonly FollowedEvent[];
}

interface Request {
  readonly value: string;
  readonly invokedAt: number;
  /** When the store executes it. Infinity: never. */
  readonly actsAt: number;
  /** Infinity: it gets no answer. */
  readonly returnedAt: number;
}

interface HonestHistoryOptions {
  readonly random: SeededRandom;
  readonly clients: number;
  readonly requestsEach: number;
}

const actions = ["read", "read", "create", "create", "update", "update if", "delete"] as const;

/** What clients see of a store that executes one request after the other, when some answers are lost. */
export function honestHistory({ random, clients, requestsEach }: HonestHistoryOptions): History {
  const requests = Array.from({ length: clients }, (_, client) => requestsOf(client, { random, count: requestsEach }));
  const honest = new HonestStore(random);
  const operations: Operation[] = [];
  for (const request of requests.flat().sort((one, other) => one.actsAt - other.actsAt)) {
    // What never happens may as well happen to another object.
    const store = request.actsAt < Infinity ? honest : new HonestStore(random);
    const operation = store.carryOut(request);
    if (request.returnedAt < Infinity) operations.push(operation);
    else if (operation.action !== "read") operations.push({ ...operation, outcome: "unknown" });
  }
  return { operations, log: honest.log };
}

function requestsOf(client: number, { random, count }: { readonly random: SeededRandom; readonly count: number }) {
  let time = random.next() * 10;
  return Array.from({ length: count }, (_, index): Request => {
    const invokedAt = time;
    const isAnswered = random.next() < 0.8;
    const delay = isAnswered ? random.next() * 10 : random.pick([random.next() * 60, Infinity]);
    const actsAt = invokedAt + delay;
    const returnedAt = isAnswered ? actsAt + random.next() * 10 : Infinity;
    time = (isAnswered ? returnedAt : invokedAt) + random.next() * 5;
    return { value: `client-${client}-${index}`, invokedAt, actsAt, returnedAt };
  });
}

class HonestStore {
  readonly log: FollowedEvent[] = [];
  readonly #random: SeededRandom;
  #current: FollowedEvent | undefined;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  carryOut({ value, actsAt, ...when }: Request): Operation {
    const action = this.#random.pick(actions);
    const current = this.#current;
    const newest = this.log.at(-1)?.revision ?? 1;
    const expectedRevision = newest - this.#random.integer(0, 1);
    const put = (): number => {
      const type = current === undefined ? "ADDED" : "MODIFIED";
      return this.#append({
        type,
        name: "key",
        uid: current?.uid ?? value,
        value,
        revision: newest + 1,
        seenAt: actsAt,
      });
    };
    switch (action) {
      case "read":
        if (current === undefined) return { ...when, action, outcome: "missing" };
        return { ...when, action, outcome: "found", value: current.value ?? "", revision: current.revision };
      case "create":
        if (current !== undefined) return { ...when, action, outcome: "exists", value };
        return { ...when, action, outcome: "done", value, revision: put() };
      case "update":
        if (current === undefined) return { ...when, action, outcome: "missing", value };
        return { ...when, action, outcome: "done", value, revision: put() };
      case "update if": {
        const conditional = { ...when, action, value, expectedRevision };
        if (current === undefined) return { ...conditional, outcome: "missing" };
        if (current.revision !== expectedRevision) return { ...conditional, outcome: "conflict" };
        return { ...conditional, outcome: "done", revision: put() };
      }
      case "delete":
        if (current === undefined) return { ...when, action, outcome: "missing" };
        this.#append({ ...current, type: "DELETED", revision: newest + 1, seenAt: actsAt });
        return { ...when, action, outcome: "done", uid: current.uid };
    }
  }

  #append(event: FollowedEvent): number {
    this.log.push(event);
    this.#current = event.type === "DELETED" ? undefined : event;
    return event.revision;
  }
}
