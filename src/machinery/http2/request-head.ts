import type { FieldSink } from "./header-decoder.ts";
import { maximumTableBytes } from "./header-table.ts";

export interface HeadLimits {
  /** The limit for the bytes of all names and values together. */
  readonly headerBytes: number;
  readonly headerCount: number;
}

/**
 * How much longer than twice their block the fields of a request may be: about the whole table, twice. A Huffman code saves less than half
 * of a text, and no client repeats a long field. Longer fields would cost the server far more than the client, which sends a field of the
 * table as one byte.
 */
const maximumRepeatedBytes = 2 * maximumTableBytes;

/** Headers about a single connection, which HTTP/2 does not allow (RFC 9113 section 8.2.2). */
const connectionHeaders = new Set(["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"]);

/** RFC 9110 section 9.1: a method is a token. */
const methodSyntax = /^[!#$%&'*+.^_`|~\w-]+$/;

/** Collects and checks the fields of a request (RFC 9113 section 8.3.1). */
export class RequestHead implements FieldSink {
  readonly #limits: HeadLimits;
  readonly #blockBytes: number;
  /** Names in lower case. A repeated header is an array, in order of arrival. */
  readonly headers: Record<string, string | string[]> = Object.create(null);
  method: string | undefined;
  path: string | undefined;
  #scheme: string | undefined;
  #authority: string | undefined;
  #hasFields = false;
  #isMalformed = false;
  #bytes = 0;
  #count = 0;

  /** `blockBytes` is the length of the header block. */
  constructor(limits: HeadLimits, blockBytes: number) {
    this.#limits = limits;
    this.#blockBytes = blockBytes;
  }

  add(name: string, value: string): void {
    this.#bytes += name.length + value.length;
    this.#count++;
    // A head that is too large is answered without its fields.
    if (this.isTooLarge) return;
    if (name.charCodeAt(0) === 0x3a) return this.#addPseudoField(name, value);
    this.#hasFields = true;
    if (connectionHeaders.has(name) || (name === "te" && value !== "trailers")) this.#isMalformed = true;
    const known = this.headers[name];
    if (known === undefined) this.headers[name] = value;
    else if (typeof known === "string") this.headers[name] = [known, value];
    else known.push(value);
  }

  addInvalid(): void {
    this.#isMalformed = true;
  }

  get isTooLarge(): boolean {
    const { headerBytes, headerCount } = this.#limits;
    return (
      this.#bytes > Math.min(headerBytes, this.#blockBytes * 2 + maximumRepeatedBytes) || this.#count > headerCount
    );
  }

  /** Call it after the last field. */
  get isMalformed(): boolean {
    if (this.#isMalformed || this.method === undefined || !methodSyntax.test(this.method)) return true;
    if (!this.#isContentLengthValid()) return true;
    // RFC 9113 section 8.3.1: `Host` must not differ from `:authority`.
    const { host } = this.headers;
    if (host !== undefined && this.#authority !== undefined && host !== this.#authority) return true;
    if (this.method === "CONNECT") return this.path !== undefined || this.#scheme !== undefined;
    return !this.path || this.#scheme === undefined;
  }

  /** In bytes. Undefined: the header is missing. Valid unless the head is malformed. */
  get contentLength(): number | undefined {
    const value = this.headers["content-length"];
    return value === undefined ? undefined : Number(value);
  }

  /** Whether the client waits for a 100 before it sends the body (RFC 9110 section 10.1.1). Case is ignored: Java sends `100-Continue`. */
  get expectsContinue(): boolean {
    const { expect } = this.headers;
    return typeof expect === "string" && expect.toLowerCase() === "100-continue";
  }

  #isContentLengthValid(): boolean {
    const value = this.headers["content-length"];
    return value === undefined || (typeof value === "string" && /^\d{1,15}$/.test(value));
  }

  #addPseudoField(name: string, value: string): void {
    if (this.#hasFields) this.#isMalformed = true;
    switch (name) {
      case ":method":
        if (this.method !== undefined) this.#isMalformed = true;
        this.method = value;
        return;
      case ":path":
        if (this.path !== undefined) this.#isMalformed = true;
        this.path = value;
        return;
      case ":scheme":
        if (this.#scheme !== undefined) this.#isMalformed = true;
        this.#scheme = value;
        return;
      case ":authority":
        // RFC 9113 section 8.3.1: `:authority` has no user name or password.
        if (this.#authority !== undefined || value.includes("@")) this.#isMalformed = true;
        this.#authority = value;
        return;
      default:
        this.#isMalformed = true;
    }
  }
}

/** Checks trailers, whose values are not used (RFC 9113 section 8.1). */
export class Trailers implements FieldSink {
  isMalformed = false;

  add(name: string): void {
    if (name.charCodeAt(0) === 0x3a) this.isMalformed = true;
  }

  addInvalid(): void {
    this.isMalformed = true;
  }
}
