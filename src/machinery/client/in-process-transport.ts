import { bodyTooLarge } from "../api/api-error.ts";
import { headerOctets } from "../api/header-text.ts";
import type { Handler, Headers, HttpRequest, HttpResponse, StreamBody } from "../api/http-message.ts";
import { isWholeBody } from "../api/is-whole-body.ts";
import { startTransaction } from "../api/transaction.ts";
import type { TransactionMember } from "../api/transaction.ts";
import { tracedTransport } from "./traced-transport.ts";
import { bodyText } from "./transport.ts";
import type { ClientRequest, ClientResponse, Transport } from "./transport.ts";

/** Calls a server's handler directly. Requests and answers are the same as over HTTPS, but without a connection. */
export function inProcessTransport(
  handle: Handler,
  { bearerToken }: { readonly bearerToken?: string } = {},
): Transport {
  const closed = new AbortController();
  const close = (): void => closed.abort();
  const ownHeaders = onTheWire({
    "user-agent": "signet",
    ...(bearerToken !== undefined && { authorization: `Bearer ${bearerToken}` }),
  });
  const transportFor = (transaction?: TransactionMember): Transport =>
    tracedTransport({
      async send(request) {
        const signal = request.signal === undefined ? closed.signal : AbortSignal.any([request.signal, closed.signal]);
        return clientResponse(await handle(httpRequest(request, { ownHeaders, signal, transaction })), signal);
      },
      close,
    });
  return {
    ...transportFor(),
    together: (count) =>
      startTransaction(count).map((member) => ({ ...transportFor(member), end: () => member.end() })),
  };
}

interface Sending {
  /** The headers that are sent with every request of this transport. */
  readonly ownHeaders: Headers;
  readonly signal: AbortSignal;
  readonly transaction: TransactionMember | undefined;
}

function httpRequest(request: ClientRequest, { ownHeaders, signal, transaction }: Sending): HttpRequest {
  const { headers = {}, body } = request;
  return {
    method: request.method,
    path: request.path,
    query: request.query ?? "",
    headers: { ...ownHeaders, ...onTheWire(headers) },
    connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
    async readBody(maximumBytes = Infinity) {
      const bytes = Buffer.from(bodyText(request) ?? "", "utf8");
      if (bytes.length > maximumBytes) throw bodyTooLarge(maximumBytes);
      return bytes;
    },
    signal,
    inProcess: { value: typeof body === "object" ? body : undefined, transaction },
  };
}

/** Converts headers to the form that a listener delivers: names in lower case, values as octets. */
function onTheWire(headers: Readonly<Record<string, string>>): Headers {
  const delivered: Record<string, string> = {};
  for (const name in headers) delivered[name.toLowerCase()] = headerOctets(headers[name] ?? "");
  return delivered;
}

const clientResponse = ({ status, headers, body, value }: HttpResponse, signal: AbortSignal): ClientResponse => ({
  status,
  headers,
  body: isWholeBody(body) ? once(body) : iterate(body, signal),
  ...(value !== undefined && { value }),
});

async function* once(body: Buffer | string): AsyncGenerator<Uint8Array> {
  yield typeof body === "string" ? Buffer.from(body) : body;
}

async function* iterate(stream: StreamBody, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const queue: Uint8Array[] = [];
  let queuedBytes = 0;
  let isEnded = false;
  let wake: () => void = () => {};
  const onAbort = (): void => {
    isEnded = true;
    wake();
  };
  const stop = stream.start({
    write(bytes) {
      queue.push(bytes);
      queuedBytes += bytes.length;
      wake();
    },
    bufferedBytes: () => queuedBytes,
    end: onAbort,
    isInProcess: true,
  });
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      if (signal.aborted) return;
      const chunk = queue.shift();
      if (chunk !== undefined) {
        queuedBytes -= chunk.length;
        yield chunk;
      } else if (isEnded) return;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    signal.removeEventListener("abort", onAbort);
    stop();
  }
}
