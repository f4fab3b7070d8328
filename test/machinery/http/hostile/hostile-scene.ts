import { setImmediate as nextTurn } from "node:timers/promises";
import type { HttpResponse } from "../../../../src/machinery/api/http-message.ts";
import { readBodyOf } from "../../../read-body-of.ts";
import { startTemporaryServer } from "../../../test-server.ts";

export interface HostileRequest {
  readonly method: string;
  /** As it is sent, with a query. */
  readonly target: string;
  readonly body?: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HostileScene {
  send(request: HostileRequest): Promise<HttpResponse>;
  /**
   * Sends it, and records an answer that is neither a success nor a Status that explains what is wrong with the
   * request.
   */
  tryOut(request: HostileRequest): Promise<void>;
  /** The answers that were recorded since the last call, at most 10. */
  takeFaults(): string[];
  stop(): Promise<void>;
}

/** A complete server that is called without a connection, with the namespace `hostile`. */
export async function hostileScene(): Promise<HostileScene> {
  const server = await startTemporaryServer();
  const send = async ({ method, target, body = "", headers = {} }: HostileRequest): Promise<HttpResponse> => {
    const at = target.indexOf("?");
    return server.handler({
      method,
      path: at < 0 ? target : target.slice(0, at),
      query: at < 0 ? "" : target.slice(at + 1),
      headers: { authorization: `Bearer ${server.adminToken}`, "content-type": "application/json", ...headers },
      connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
      readBody: readBodyOf(Buffer.from(body)),
      signal: new AbortController().signal,
    });
  };
  let faults: string[] = [];
  const tryOut = async (request: HostileRequest): Promise<void> => {
    const response = await send(request);
    const text = shown(response);
    const isRefusal = isStatus(text) || text === "404 page not found\n";
    if (response.status < 400 || (response.status < 500 && isRefusal)) return;
    const { method, target, headers, body } = request;
    const asked = `${method} ${target.slice(0, 200)} ${JSON.stringify(headers ?? {}).slice(0, 200)}`;
    faults.push(`${response.status} to ${asked} ${String(body ?? "").slice(0, 300)}: ${text.slice(0, 200)}`);
  };
  const takeFaults = (): string[] => {
    const taken = faults;
    faults = [];
    return taken.slice(0, 10);
  };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "hostile" } };
  await send({ method: "POST", target: "/api/v1/namespaces", body: JSON.stringify(namespace) });
  // A Pod needs it. A controller makes it.
  const defaultAccount = { method: "GET", target: "/api/v1/namespaces/hostile/serviceaccounts/default" };
  while ((await send(defaultAccount)).status !== 200) await nextTurn();
  return { send, tryOut, takeFaults, stop: () => server.stop() };
}

function isStatus(text: string): boolean {
  try {
    const { kind, message } = JSON.parse(text) as { readonly kind?: unknown; readonly message?: unknown };
    return kind === "Status" && typeof message === "string" && message !== "";
  } catch {
    return false;
  }
}

/** The text of an answer. Empty for a watch, which is ended immediately. */
function shown({ body }: HttpResponse): string {
  if (typeof body === "string" || Buffer.isBuffer(body)) return String(body);
  body.start({ write: () => {}, bufferedBytes: () => 0, end: () => {} })();
  return "";
}
