import { setTimeout as delay } from "node:timers/promises";
import { ApiError } from "../../../src/machinery/api/api-error.ts";
import type { ApiObject } from "../../../src/machinery/api/object-meta.ts";
import { collectionPath } from "../../../src/machinery/client/api-client.ts";
import type { ResourceType } from "../../../src/machinery/api/resource-type.ts";
import type { ApiClient, ResourceClient } from "../../../src/machinery/client/api-client.ts";
import type { Operation } from "./operation.ts";
import type { RevisionTold } from "./revision-order.ts";
import type { SeededRandom } from "../seeded-random.ts";

/** A ConfigMap that contains the value of one write. */
export interface ValueObject extends ApiObject {
  data?: Record<string, string>;
}

/** The Status that answers a delete. */
interface Deleted {
  readonly details: { readonly uid: string };
}

const retryMilliseconds = 10;

export interface HistoryClientOptions {
  readonly name: string;
  readonly reference: ResourceType<ValueObject>;
  readonly namespace: string;
  readonly keys: readonly [string, ...string[]];
  readonly random: SeededRandom;
}

/** One client that does one operation after the other on a few shared objects, and records the results. */
export class HistoryClient {
  /** By key. */
  readonly operations = new Map<string, Operation[]>();
  readonly revisions: RevisionTold[] = [];
  /** Answers that the API's rules do not allow. */
  readonly violations: string[] = [];
  readonly #options: HistoryClientOptions;
  readonly #lastRead = new Map<string, number>();
  #writes = 0;

  constructor(options: HistoryClientOptions) {
    this.#options = options;
    for (const key of options.keys) this.operations.set(key, []);
  }

  async run(client: ApiClient, signal: AbortSignal): Promise<void> {
    const { random, reference, namespace, keys } = this.#options;
    const resource = client.resource(reference, namespace);
    while (!signal.aborted) {
      const key = keys[random.integer(0, keys.length - 1)] ?? keys[0];
      const chance = random.next();
      const isAnswered =
        chance < 0.35
          ? await this.#read(resource, key)
          : chance < 0.45
            ? await this.#list(resource)
            : chance < 0.6
              ? await this.#create(resource, key)
              : chance < 0.75
                ? await this.#update(resource, key)
                : chance < 0.9
                  ? await this.#updateIf(resource, key)
                  : await this.#delete(client, key);
      if (!isAnswered) await delay(retryMilliseconds);
    }
  }

  async #read(resource: ResourceClient<ValueObject>, key: string): Promise<boolean> {
    const invokedAt = performance.now();
    const answer = await attempt(resource.get(key));
    if (answer.type === "object") {
      this.#note(key, { ...this.#found(key, answer.object), ...interval(invokedAt) });
    } else if (answer.type === "refused" && answer.code === 404) {
      this.#note(key, { ...interval(invokedAt), action: "read", outcome: "missing" });
    } else return this.#unexplained(answer, `read ${key}`);
    return true;
  }

  /** A list reads every key at one revision. */
  async #list(resource: ResourceClient<ValueObject>): Promise<boolean> {
    const invokedAt = performance.now();
    const answer = await attempt(resource.list());
    if (answer.type !== "object") return this.#unexplained(answer, "list");
    const { items, metadata } = answer.object;
    const when = interval(invokedAt);
    this.revisions.push({ ...when, type: "list", revision: Number(metadata.resourceVersion) });
    for (const key of this.#options.keys) {
      const object = items.find((item) => item.metadata.name === key);
      this.#note(
        key,
        object === undefined
          ? { ...when, action: "read", outcome: "missing" }
          : { ...this.#found(key, object), ...when },
      );
    }
    return true;
  }

  async #create(resource: ResourceClient<ValueObject>, key: string): Promise<boolean> {
    const value = this.#nextValue();
    const invokedAt = performance.now();
    const answer = await attempt(resource.create(objectOf(key, { value })));
    const when = interval(invokedAt);
    if (answer.type === "object") {
      const revision = this.#written(answer.object, when);
      this.#note(key, { ...when, action: "create", outcome: "done", value, revision });
    } else if (answer.type === "refused" && answer.code === 409) {
      this.#note(key, { ...when, action: "create", outcome: "exists", value });
    } else if (answer.type === "unknown") {
      this.#note(key, { ...unanswered(when), action: "create", outcome: "unknown", value });
    }
    return this.#unexplained(answer, `create ${key}`, [409]);
  }

  async #update(resource: ResourceClient<ValueObject>, key: string): Promise<boolean> {
    const value = this.#nextValue();
    const invokedAt = performance.now();
    const answer = await attempt(resource.update(objectOf(key, { value })));
    const when = interval(invokedAt);
    if (answer.type === "object") {
      const revision = this.#written(answer.object, when);
      this.#note(key, { ...when, action: "update", outcome: "done", value, revision });
    } else if (answer.type === "refused" && answer.code === 404) {
      this.#note(key, { ...when, action: "update", outcome: "missing", value });
    } else if (answer.type === "unknown") {
      this.#note(key, { ...unanswered(when), action: "update", outcome: "unknown", value });
    }
    return this.#unexplained(answer, `update ${key}`, [404]);
  }

  async #updateIf(resource: ResourceClient<ValueObject>, key: string): Promise<boolean> {
    const expectedRevision = this.#lastRead.get(key);
    if (expectedRevision === undefined) return true;
    const write = { action: "update if", value: this.#nextValue(), expectedRevision } as const;
    const invokedAt = performance.now();
    const answer = await attempt(resource.update(objectOf(key, write)));
    const when = interval(invokedAt);
    if (answer.type === "object") {
      this.#note(key, { ...when, ...write, outcome: "done", revision: this.#written(answer.object, when) });
    } else if (answer.type === "refused" && (answer.code === 404 || answer.code === 409)) {
      this.#note(key, { ...when, ...write, outcome: answer.code === 404 ? "missing" : "conflict" });
    } else if (answer.type === "unknown") {
      this.#note(key, { ...unanswered(when), ...write, outcome: "unknown" });
    }
    return this.#unexplained(answer, `update ${key} at ${expectedRevision}`, [404, 409]);
  }

  async #delete(client: ApiClient, key: string): Promise<boolean> {
    const { reference, namespace } = this.#options;
    const invokedAt = performance.now();
    const answer = await attempt(
      client.request<Deleted>(`${collectionPath(reference, namespace)}/${key}`, { method: "DELETE" }),
    );
    const when = interval(invokedAt);
    if (answer.type === "object") {
      this.#note(key, { ...when, action: "delete", outcome: "done", uid: answer.object.details.uid });
    } else if (answer.type === "refused" && answer.code === 404) {
      this.#note(key, { ...when, action: "delete", outcome: "missing" });
    } else if (answer.type === "unknown") {
      this.#note(key, { ...unanswered(when), action: "delete", outcome: "unknown" });
    }
    return this.#unexplained(answer, `delete ${key}`, [404]);
  }

  #nextValue(): string {
    this.#writes += 1;
    return `${this.#options.name}-${this.#writes}`;
  }

  #found(key: string, { metadata, data }: ValueObject) {
    const revision = Number(metadata.resourceVersion);
    this.#lastRead.set(key, revision);
    return { action: "read", outcome: "found", value: data?.["value"] ?? "", revision } as const;
  }

  #written({ metadata }: ValueObject, when: { readonly invokedAt: number; readonly returnedAt: number }): number {
    const revision = Number(metadata.resourceVersion);
    this.revisions.push({ ...when, type: "write", revision });
    return revision;
  }

  #note(key: string, operation: Operation): void {
    this.operations.get(key)?.push(operation);
  }

  /** False when there was no answer. An answer that no listed code explains is a violation. */
  #unexplained(answer: Answer<unknown>, what: string, codes: readonly number[] = []): boolean {
    if (answer.type === "refused" && !codes.includes(answer.code)) {
      this.violations.push(`${what}: ${answer.code} ${answer.message}`);
    }
    return answer.type === "object" || answer.type === "refused";
  }
}

/** `not sent`: the server has certainly not seen it. */
type Answer<T> =
  | { readonly type: "object"; readonly object: T }
  | { readonly type: "refused"; readonly code: number; readonly message: string }
  | { readonly type: "unknown" | "not sent" };

async function attempt<T>(request: Promise<T>): Promise<Answer<T>> {
  try {
    return { type: "object", object: await request };
  } catch (error) {
    if (error instanceof ApiError) {
      if (error.code === 429) return { type: "not sent" };
      // A server that fails does not say whether it has written.
      if (error.code >= 500) return { type: "unknown" };
      return { type: "refused", code: error.code, message: error.message };
    }
    const isRefused = error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
    return { type: isRefused ? "not sent" : "unknown" };
  }
}

const interval = (invokedAt: number) => ({ invokedAt, returnedAt: performance.now() });
const unanswered = ({ invokedAt }: { readonly invokedAt: number }) => ({ invokedAt, returnedAt: Infinity });

const objectOf = (
  name: string,
  { value, expectedRevision }: { readonly value: string; readonly expectedRevision?: number },
): ValueObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, ...(expectedRevision !== undefined && { resourceVersion: String(expectedRevision) }) },
  data: { value },
});
