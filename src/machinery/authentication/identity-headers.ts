import type { Connection, Headers, HttpRequest, InProcessCall } from "../api/http-message.ts";

const dashed = (name: string): string => name.toLowerCase().replaceAll("_", "-");

/** Headers that carry or claim an identity, by name and by the beginning of their names; in lower case. */
export interface IdentityHeaders {
  readonly names: readonly string[];
  readonly prefixes: readonly string[];
}

/**
 * Makes a function that takes every declared identity header out of a request. `_` counts as `-`: later readers of
 * headers may take one for the other (CVE-2025-64484). A request without any stays as it is.
 */
export function identityHeaderRemover(declared: readonly IdentityHeaders[]) {
  const names = new Set(declared.flatMap((headers) => headers.names.map(dashed)));
  const prefixes = [...new Set(declared.flatMap((headers) => headers.prefixes.map(dashed)))];
  const isIdentity = (name: string): boolean => {
    const key = dashed(name);
    return names.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
  };
  // Clients send few different names; a caller who sends many finds no room to fill.
  const known = new Map<string, boolean>();
  const isKnownIdentity = (name: string): boolean => {
    let answer = known.get(name);
    if (answer === undefined) {
      answer = isIdentity(name);
      if (known.size < longestMemory && name.length <= longestName) known.set(name, answer);
    }
    return answer;
  };

  return (request: HttpRequest): HttpRequest => {
    const headers: Record<string, Headers[string]> = {};
    let isChanged = false;
    for (const name in request.headers) {
      if (isKnownIdentity(name)) isChanged = true;
      else headers[name] = request.headers[name];
    }
    return isChanged ? new RequestWithHeaders(request, headers) : request;
  };
}

/** The same request with other headers. What a request makes on first use (its signal) is still made on first use. */
class RequestWithHeaders implements HttpRequest {
  readonly #request: HttpRequest;
  readonly headers: Headers;

  constructor(request: HttpRequest, headers: Headers) {
    this.#request = request;
    this.headers = headers;
  }

  get method(): string {
    return this.#request.method;
  }

  get path(): string {
    return this.#request.path;
  }

  get query(): string {
    return this.#request.query;
  }

  get connection(): Connection {
    return this.#request.connection;
  }

  get isWebSocket(): boolean {
    return this.#request.isWebSocket ?? false;
  }

  get inProcess(): InProcessCall | undefined {
    return this.#request.inProcess;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get hasFreshCache(): boolean {
    return this.#request.hasFreshCache ?? false;
  }

  readBody(maximumBytes?: number): Promise<Buffer> {
    return this.#request.readBody(maximumBytes);
  }
}

const longestMemory = 1000;
/** The longest name that is remembered: strangers must not fill the memory with long ones. */
const longestName = 64;
