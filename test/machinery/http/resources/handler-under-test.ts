import assert from "node:assert/strict";
import type { HttpRequest, HttpResponse } from "../../../../src/machinery/api/http-message.ts";
import { createResourceHandler } from "../../../../src/machinery/http/resources/resource-handler.ts";
import type { Clock, Schedule } from "../../../../src/machinery/api/clock.ts";
import type { ReviewDefinition } from "../../../../src/machinery/registry/definition/review-definition.ts";
import type { RecordObject } from "../../../../src/machinery/http/request-audit.ts";
import { requestInfo } from "../../../../src/machinery/http/request-info.ts";
import { toyBox, toyClock, toys } from "../../registry/toy-resource.ts";
import type { ToyBox } from "../../registry/toy-resource.ts";

export interface Sent {
  readonly method?: string;
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly plural?: string;
  readonly inProcess?: HttpRequest["inProcess"];
}

interface Scene {
  readonly box: ToyBox;
  /** Sends a request; `target` follows the collection's path. */
  send(target: string, sent?: Sent): Promise<HttpResponse>;
  readonly timers: { readonly milliseconds: number; readonly callback: () => void }[];
}

const inNamespace = "/apis/toys.example.com/v1/namespaces/box";

export async function scene({
  decision = "allow",
  definition = toys,
  reviews = [],
  clock = toyClock,
  refuseRevoked = () => {},
  recordObject,
}: {
  decision?: "allow" | "deny";
  definition?: typeof toys;
  reviews?: readonly ReviewDefinition[];
  clock?: Clock;
  refuseRevoked?: () => void;
  recordObject?: RecordObject;
} = {}): Promise<Scene> {
  const box = await toyBox({ definition, clock });
  const timers: Scene["timers"] = [];
  const schedule: Schedule = (callback, milliseconds) => {
    const timer = { milliseconds, callback };
    timers.push(timer);
    return () => {
      if (timers.includes(timer)) timers.splice(timers.indexOf(timer), 1);
    };
  };
  const handle = createResourceHandler({
    registries: [box.registry],
    reviews,
    admission: [],
    authorize: () => ({ decision, reason: "" }),
    clock,
    schedule,
  });
  return {
    box,
    timers,
    async send(target, { method = "GET", body = "", headers = {}, plural = "toys", inProcess } = {}) {
      const [path = "", query = ""] = `${inNamespace}/${plural}${target}`.split("?");
      const info = requestInfo({ method, path, query });
      assert.equal(info.kind, "resource");
      const request = {
        method,
        path,
        query,
        headers: { "user-agent": "test/1.0", ...headers },
        connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
        readBody: async () => Buffer.from(body),
        signal: new AbortController().signal,
        inProcess,
      };
      const user = { username: "child", groups: [], extra: {} };
      const audited = recordObject && { recordObject, annotate() {}, nameObject() {} };
      return handle({ request, info, user, refuseRevoked, audited });
    },
  };
}

/** The members of answers that are looked at here. */
export interface Answer {
  readonly kind: string;
  readonly message: string;
  readonly status: string;
  readonly code: number;
  readonly details: unknown;
  readonly metadata: { readonly remainingItemCount?: number };
  readonly items: unknown[] | null;
  readonly rows: { readonly cells: unknown[]; readonly object: unknown }[];
  readonly columnDefinitions: { readonly name: string }[] | null;
}

export const table = { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" };
