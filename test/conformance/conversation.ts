import { randomBytes } from "node:crypto";
import https from "node:https";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { valueAt } from "./json-pointer.ts";
import type { ProfileNames } from "./profile-names.ts";
import type { Credentials, Scenario, Step, Summary, Until, Variables } from "./scenario.ts";
import { summarise } from "./summarise.ts";
import type { Answer } from "./summarise.ts";

/** The server under test, and the credentials to use. */
export interface Target {
  readonly server: URL;
  readonly agent: https.Agent;
  /** A token of a member of system:masters. It impersonates the users of the scenarios. */
  readonly adminToken: string;
  readonly names: ProfileNames;
  /** File name to contents. */
  readonly fixtures: ReadonlyMap<string, Buffer>;
}

export interface StepResult {
  readonly index: number;
  readonly step: Step;
  /** The server's answer, or why there was none. */
  readonly actual: Summary | { readonly error: string };
}

/** Replays one scenario against the server, in a new namespace. */
export async function converse(scenario: Scenario, target: Target): Promise<StepResult[]> {
  const suffix = randomBytes(4).toString("hex");
  const variables: Variables = { ns: `ns-${suffix}`, id: `id-${suffix}` };
  const watches = new Map<string, RecordedWatch>();
  const results: StepResult[] = [];
  const usesNamespace = JSON.stringify(scenario.steps).includes("${ns}");
  const ask = (step: Step): Promise<Answer> => send(prepare(step, { variables, target }), target);
  try {
    if (usesNamespace) await makeNamespace(ask, `ns-${suffix}`);
    for (const [index, step] of scenario.steps.entries()) {
      if (step.sleepMs !== undefined) await delay(step.sleepMs);
      else if (step.watchStart !== undefined) {
        watches.set(step.watchStart, await openWatch(prepare(step, { variables, target }), target));
      } else {
        const answer =
          step.watchCollect === undefined
            ? await askUntil(step, { ask, inbound: target.names.inbound })
            : await collect(watches.get(step.watchCollect), step);
        if (step.capture && answer.text) captureValues(step.capture, target.names.inbound(answer.text), variables);
        if (step.silent !== true) {
          results.push({ index, step, actual: summarise(answer, { step, variables, inbound: target.names.inbound }) });
        }
      }
    }
  } catch (error) {
    const step: Step = scenario.steps[results.length] ?? {};
    results.push({ index: results.length, step, actual: { error: String(error) } });
  } finally {
    for (const watch of watches.values()) watch.stop();
    if (usesNamespace) await ask({ method: "DELETE", path: `/api/v1/namespaces/${variables["ns"]}` }).catch(() => {});
  }
  return results;
}

async function makeNamespace(ask: (step: Step) => Promise<Answer>, name: string): Promise<void> {
  await ask({
    method: "POST",
    path: "/api/v1/namespaces",
    body: { apiVersion: "v1", kind: "Namespace", metadata: { name } },
  });
  for (let tries = 0; tries < 40; tries++) {
    if ((await ask({ path: `/api/v1/namespaces/${name}/serviceaccounts/default` })).status === 200) return;
    await delay(50);
  }
}

type OutgoingHeaders = Record<string, string | string[]>;

interface Prepared {
  readonly method: string;
  readonly path: string;
  readonly headers: OutgoingHeaders;
  readonly payload: string | undefined;
}

interface Situation {
  readonly variables: Variables;
  readonly target: Target;
}

function credentialHeaders(as: Credentials | undefined, adminToken: string): OutgoingHeaders {
  const admin = { authorization: `Bearer ${adminToken}` };
  if (as === undefined || as === "admin") return admin;
  if (typeof as === "string") return { ...admin, "Impersonate-User": as };
  if ("anonymous" in as) return {};
  if ("token" in as) return { authorization: `Bearer ${as.token}` };
  if ("authorization" in as) return { authorization: mutable(as.authorization) };
  return {
    ...admin,
    ...(as.user !== undefined && { "Impersonate-User": as.user }),
    ...(as.groups && { "Impersonate-Group": [...as.groups] }),
    ...(as.uid && { "Impersonate-Uid": as.uid }),
    ...Object.fromEntries(
      Object.entries(as.extra ?? {}).map(([key, values]) => [`Impersonate-Extra-${key}`, [...values]]),
    ),
  };
}

const mutable = (value: string | readonly string[]): string | string[] =>
  typeof value === "string" ? value : [...value];

/** Fills in `${name}`, `${pem:FILE}` and `${b64:FILE}`, keys included. */
function substitute<T>(value: T, situation: Situation): T;
function substitute(value: unknown, situation: Situation): unknown {
  if (typeof value === "string") {
    return value.replace(/\$\{([^}]+)\}/g, (whole, name: string) => {
      const fixture = situation.target.fixtures.get(name.slice(4));
      if (name.startsWith("pem:") && fixture) return fixture.toString("utf8");
      if (name.startsWith("b64:") && fixture) return fixture.toString("base64");
      return situation.variables[name] ?? whole;
    });
  }
  if (Array.isArray(value)) return value.map((item) => substitute(item as unknown, situation));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [substitute(key, situation), substitute(field as unknown, situation)]),
  );
}

function prepare(step: Step, situation: Situation): Prepared {
  const { outbound } = situation.target.names;
  const { as, path = "", query, headers, body, bodyText } = substitute(step, situation);
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {})) {
    for (const one of typeof value === "object" ? value : [value]) search.append(key, outbound(String(one)));
  }
  const separator = path.includes("?") ? "&" : "?";
  const outgoing: OutgoingHeaders = {
    "user-agent": "conformance/1.0",
    accept: "application/json",
    ...credentialHeaders(as, situation.target.adminToken),
  };
  for (const [key, value] of Object.entries(headers ?? {})) outgoing[key.toLowerCase()] = mutable(value);
  const payload =
    bodyText === undefined ? (body === undefined ? undefined : outbound(JSON.stringify(body))) : outbound(bodyText);
  if (payload !== undefined) {
    outgoing["content-type"] ??= "application/json";
    outgoing["content-length"] = String(Buffer.byteLength(payload));
  }
  return {
    method: step.method ?? "GET",
    path: outbound(path) + (search.size > 0 ? separator + search.toString() : ""),
    headers: Object.fromEntries(Object.entries(outgoing).map(([key, value]) => renamed(key, value, outbound))),
    payload,
  };
}

/** A header's name may contain an escaped key of the profile (`impersonate-extra-platform.io%2fx`). */
function renamed(
  key: string,
  value: string | string[],
  outbound: (text: string) => string,
): [string, string | string[]] {
  const mapped = outbound(key.replaceAll(/%2f/gi, "/")).replaceAll("/", "%2f");
  const name = mapped.toLowerCase() === key.toLowerCase() ? key : mapped;
  return [name, typeof value === "string" ? outbound(value) : value.map((one) => outbound(one))];
}

function open(prepared: Prepared, { server, agent }: Target): Promise<{ response: IncomingMessage; stop: () => void }> {
  return new Promise((resolve, reject) => {
    const request = https.request(
      {
        host: server.hostname,
        port: server.port,
        method: prepared.method,
        path: prepared.path,
        headers: prepared.headers,
        agent,
        timeout: 60_000,
      },
      (response) => resolve({ response, stop: () => request.destroy() }),
    );
    request.on("timeout", () => request.destroy(new Error("no answer in 60 s")));
    request.on("error", reject);
    request.end(prepared.payload);
  });
}

async function send(prepared: Prepared, target: Target): Promise<Answer> {
  const { response } = await open(prepared, target);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode ?? 0, headers: response.headers, text: Buffer.concat(chunks).toString("utf8") };
}

interface Asking {
  readonly ask: (step: Step) => Promise<Answer>;
  readonly inbound: (text: string) => string;
}

async function askUntil(step: Step, { ask, inbound }: Asking): Promise<Answer> {
  const limit = Date.now() + (step.until?.timeoutMs ?? 0);
  for (;;) {
    const answer = await ask(step);
    if (step.until === undefined || isMet(answer, step.until, inbound) || Date.now() >= limit) return answer;
    await delay(100);
  }
}

function isMet(answer: Answer, until: Until, inbound: (text: string) => string): boolean {
  if (until.status !== undefined && answer.status !== until.status) return false;
  if (until.pointer === undefined) return true;
  try {
    const value = valueAt(JSON.parse(inbound(answer.text ?? "")), until.pointer);
    return until.equals === undefined ? value !== undefined : isDeepStrictEqual(value, until.equals);
  } catch {
    return false;
  }
}

function captureValues(pointers: Readonly<Record<string, string>>, text: string, variables: Variables): void {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return;
  }
  for (const [name, pointer] of Object.entries(pointers)) {
    const value = valueAt(body, pointer);
    if (value !== undefined) variables[name] = String(value);
  }
}

interface RecordedWatch {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly events: unknown[];
  readonly state: { text: string; isEnded: boolean };
  readonly stop: () => void;
}

async function openWatch(prepared: Prepared, target: Target): Promise<RecordedWatch> {
  const { response, stop } = await open(prepared, target);
  const watch: RecordedWatch = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events: [],
    state: { text: "", isEnded: false },
    stop,
  };
  let rest = "";
  response.setEncoding("utf8");
  response.on("data", (chunk: string) => {
    watch.state.text += chunk;
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line.trim() !== "") watch.events.push(eventOf(target.names.inbound(line)));
  });
  const end = (): void => {
    watch.state.isEnded = true;
  };
  response.on("end", end);
  response.on("error", end);
  return watch;
}

function eventOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return { type: "UNPARSED", line: line.trim() };
  }
}

async function collect(watch: RecordedWatch | undefined, step: Step): Promise<Answer> {
  if (watch === undefined) return { status: 0, headers: {} };
  const limit = Date.now() + (step.timeoutMs ?? 5000);
  while (watch.events.length < (step.count ?? 1) && !watch.state.isEnded && Date.now() < limit) await delay(20);
  if (step.settleMs !== undefined) await delay(step.settleMs);
  watch.stop();
  const { status, headers, events, state } = watch;
  if (events.length === 0 && state.text !== "") return { status, headers, text: state.text };
  return { status, headers, events: events.slice(0, step.count ?? events.length) };
}
