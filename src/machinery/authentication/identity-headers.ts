import type { Connection, Headers, HttpRequest, InProcessCall } from "../api/http-message.ts";

const dashed = (name: string): string => name.toLowerCase().replaceAll("_", "-");

/** The names, and the beginnings of names, of headers that carry or claim an identity. In lower case. */
export interface IdentityHeaders {
  readonly names: readonly string[];
  readonly prefixes: readonly string[];
}

/**
 * Creates a function that removes every declared identity header from a request. `_` counts as `-`, because later readers of headers may
 * confuse them (CVE-2025-64484). A request without identity headers is returned unchanged.
 */
export function identityHeaderRemover(declared: readonly IdentityHeaders[]) {
  const names = new Set(declared.flatMap((headers) => headers.names.map(dashed)));
  const prefixes = [...new Set(declared.flatMap((headers) => headers.prefixes.map(dashed)))];
  const isIdentity = (name: string): boolean => {
    const key = dashed(name);
    return names.has(key) || prefixes.some((prefix) => key.startsWith(prefix));
  };
  // Clients send few different names. The size is limited, for a caller who sends many.
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

/** The same request with other headers. The request's signal is still created on first use. */
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
/** The longest name that is remembered: unknown callers must not fill the memory with long names. */
const longestName = 64;
