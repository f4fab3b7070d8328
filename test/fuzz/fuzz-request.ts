import type { X509Certificate } from "node:crypto";

export type Header = readonly [name: string, value: string];

/** How an HTTP/1.1 body states its length: as clients do, or in a way that a server has to refuse or survive. */
export type Framing = "length" | "chunked" | "broken-chunks" | "two-lengths" | "length-and-chunked" | "cut-short";

/** One input of the fuzzer: everything that is sent, as it is sent. */
export interface FuzzRequest {
  readonly protocol: "http/1.1" | "h2";
  readonly method: string;
  /** Path and query. */
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body: Buffer;
  readonly framing: Framing;
  /** The client certificate of the connection. Only in process, where no handshake is needed. */
  readonly peerCertificate?: X509Certificate;
}

export interface FuzzAnswer {
  /** 0: the connection was closed without an answer. */
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  /** Of a watch, only what arrived at once. */
  readonly body: Buffer;
  /** Whether the body is an endless stream (a watch). */
  readonly isStream: boolean;
}

/** The input as JSON that can be kept and sent again: the body is text where it is UTF-8, else base64. */
export function requestAsJson({ protocol, method, target, headers, body, framing, peerCertificate }: FuzzRequest) {
  const text = body.toString();
  const isText = Buffer.from(text).equals(body);
  return {
    protocol,
    method,
    target,
    headers,
    ...(body.length > 0 && (isText ? { body: text } : { bodyBase64: body.toString("base64") })),
    ...(framing !== "length" && { framing }),
    ...(peerCertificate !== undefined && { peerCertificate: peerCertificate.toString() }),
  };
}

/** A command that sends the input to a server, for people. Bodies that are no text are given in base64. */
export function requestAsCurl(request: FuzzRequest): string {
  const { method, target, headers, body, protocol } = request;
  const words = ["curl", "--insecure", protocol === "h2" ? "--http2" : "--http1.1", "-X", quoted(method)];
  for (const [name, value] of headers) words.push("-H", quoted(`${name}: ${value}`));
  const isText = Buffer.from(body.toString()).equals(body);
  if (body.length > 0) words.push("--data-binary", isText ? quoted(body.toString()) : "@-");
  words.push("--path-as-is", quoted(`https://127.0.0.1:6443${target}`));
  const command = words.join(" ");
  return isText || body.length === 0 ? command : `base64 -d <<< ${body.toString("base64")} | ${command}`;
}

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
