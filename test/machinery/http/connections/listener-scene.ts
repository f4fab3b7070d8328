import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect as connectHttp2 } from "node:http2";
import type { ClientHttp2Session, IncomingHttpHeaders, SecureClientSessionOptions } from "node:http2";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { mock } from "node:test";
import { connect as connectTls } from "node:tls";
import type { ConnectionOptions, TLSSocket } from "node:tls";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import type { Schedule } from "../../../../src/machinery/api/clock.ts";
import type { Handler, HttpResponse } from "../../../../src/machinery/api/http-message.ts";
import { createListener } from "../../../../src/machinery/http/connections/listener.ts";
import type { Listener, ListenerLimits, ListenerTls } from "../../../../src/machinery/http/connections/listener.ts";
import { errorResponse } from "../../../../src/machinery/http/response.ts";
import type { ServingCertificate } from "../../../../src/machinery/http/connections/serving-context.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

/** The certificates of the listener, before and after a renewal, and of a client. */
export const [serving, renewed, client] = [
  newCertificate("serving"),
  newCertificate("renewed"),
  newCertificate("client"),
];

function newCertificate(name: string): ServingCertificate {
  const directory = temporaryFolder();
  const [key, cert] = [join(directory, `${name}.key`), join(directory, `${name}.crt`)];
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  const subject = ["-subj", `/CN=${name}`, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  execFileSync("openssl", ["req", "-x509", ...curve, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
  return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
}

export const text = (body: string, status = 200): HttpResponse => ({
  status,
  headers: { "content-type": "text/plain" },
  body,
});

/**
 * Echoes the request. `/hang` never answers, `/body` answers the body's length, `/peer` the client certificate's
 * subject.
 */
const echo: Handler = async (request) => {
  try {
    if (request.path === "/hang") await once(request.signal, "abort");
    if (request.path === "/body") return text(String((await request.readBody()).length));
    if (request.path === "/peer") return text(request.connection.peerCertificates.map(({ subject }) => subject).join());
    return text(
      JSON.stringify({
        method: request.method,
        path: request.path,
        query: request.query,
        group: request.headers["x-group"],
      }),
    );
  } catch (error) {
    return errorResponse(error as ApiError, request);
  }
};

interface NewListener {
  readonly handler?: Handler;
  readonly limits?: Partial<ListenerLimits>;
  readonly schedule?: Schedule;
  readonly isSweptByTime?: boolean;
}

const tls: ListenerTls = { protocol: { minVersion: "TLSv1.2" }, contextFor: undefined };

/** Unless time sweeps it, seconds pass when a test sweeps: on a busy machine, some pass between two steps of a test. */
export function newListener({
  handler = echo,
  limits = {},
  isSweptByTime = false,
  ...more
}: NewListener = {}): Listener {
  const never = setInterval(() => undefined, 2 ** 31 - 1).unref();
  const interval = isSweptByTime ? undefined : mock.method(globalThis, "setInterval", () => never);
  try {
    return createListener({
      handler,
      certificate: serving,
      tls,
      limits,
      log: { warn: () => undefined, error: () => undefined },
      ...more,
    });
  } finally {
    interval?.mock.restore();
  }
}

export async function withListener(
  options: NewListener,
  use: (port: number, listener: Listener) => Promise<void>,
): Promise<void> {
  const listener = newListener(options);
  const port = await listener.listen({ host: "127.0.0.1", port: 0 });
  try {
    await use(port, listener);
  } finally {
    await listener.close({ graceMilliseconds: 0 });
  }
}

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly headers?: Record<string, string | string[]>;
  readonly body?: Buffer | string;
}

export function openHttp2(port: number, options: SecureClientSessionOptions = {}): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${port}`, { rejectUnauthorized: false, ...options });
  session.on("error", () => undefined);
  return session;
}

export async function sendHttp2(
  session: ClientHttp2Session,
  { path, method = "GET", headers = {}, body }: Sent,
): Promise<Answer> {
  const stream = session.request({ ":path": path, ":method": method, ...headers }, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const [head] = (await once(stream, "response")) as [IncomingHttpHeaders & { ":status": number }];
  let received = "";
  for await (const chunk of stream.setEncoding("utf8")) received += String(chunk);
  return { status: head[":status"], body: received, headers: head };
}

export async function sendHttp1(port: number, { path, method = "GET", headers = {}, body }: Sent): Promise<Answer> {
  const request = httpsRequest({
    host: "127.0.0.1",
    port,
    path,
    method,
    headers,
    rejectUnauthorized: false,
    agent: false,
  });
  request.on("error", () => undefined);
  request.end(body);
  const [response] = await once(request, "response");
  let received = "";
  for await (const chunk of response.setEncoding("utf8")) received += String(chunk);
  return { status: response.statusCode, body: received, headers: response.headers };
}

export async function openTls(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const socket = connectTls({
    host: "127.0.0.1",
    port,
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
    ...options,
  });
  socket.on("error", () => undefined);
  await once(socket, "secureConnect");
  return socket;
}

/** Sends raw bytes and returns everything that arrives until the server closes the connection. */
export async function sendRaw(port: number, bytes: string): Promise<string> {
  const socket = await openTls(port);
  let received = "";
  socket.setEncoding("utf8").on("data", (chunk: string) => (received += chunk));
  socket.write(bytes);
  if (!socket.closed) await once(socket, "close");
  return received;
}

/** Changes the keys of a connection so many times, or until the server ends it, then gets "/". Returns the changes and what was received. */
export async function changeKeys(
  port: number,
  times: number,
): Promise<{ readonly changes: number; readonly received: string }> {
  const client = spawn("openssl", ["s_client", "-connect", `127.0.0.1:${port}`], { stdio: "pipe" });
  client.stdin.on("error", () => undefined);
  let changes = 0;
  let received = "";
  client.stdout.setEncoding("utf8").on("data", (text: string) => (received += text));
  client.stdout.once("data", () => client.stdin.write("k\n"));
  client.stderr.setEncoding("utf8").on("data", (text: string) => {
    if (!text.includes("KEYUPDATE")) return;
    changes += 1;
    client.stdin.write(changes < times ? "k\n" : "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  });
  await once(client, "close");
  return { changes, received };
}

export const statusesOf = (received: string): (string | undefined)[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);

export async function openTlsOrFail(port: number): Promise<void> {
  const socket = connectTls({ host: "127.0.0.1", port, rejectUnauthorized: false });
  await Promise.race([
    once(socket, "secureConnect"),
    once(socket, "error").then(([error]) => Promise.reject(error as Error)),
  ]);
  socket.destroy();
}
