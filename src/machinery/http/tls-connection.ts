import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { Connection } from "../api/http-message.ts";

/** Longer chains are cut: what a verifier then misses is refused. */
const maximumChainLength = 10;

/** A connection as requests see it. What is costly to read is read once, when first asked for. */
export class TlsConnection implements Connection {
  readonly #socket: TLSSocket;
  #peerCertificates: readonly X509Certificate[] | undefined;
  readonly remoteAddress: string;
  /** Exchanges that have not ended. */
  openExchanges = 0;
  /** When the last exchange began or ended, in the listener's seconds. */
  activeAtSecond: number;

  constructor(socket: TLSSocket, nowSecond: number) {
    this.#socket = socket;
    this.remoteAddress = socket.remoteAddress ?? "";
    this.activeAtSecond = nowSecond;
  }

  /** Ends it at once, whatever the other side does. */
  destroy(): void {
    this.#socket.destroy();
  }

  /** Sessions are never resumed and never renegotiated, so what the handshake brought is what the peer proved. */
  get peerCertificates(): readonly X509Certificate[] {
    this.#peerCertificates ??= chainOf(this.#socket.getPeerX509Certificate());
    return this.#peerCertificates;
  }
}

function chainOf(leaf: X509Certificate | undefined): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  for (let next = leaf; next && chain.length < maximumChainLength; next = next.issuerCertificate) {
    if (chain.some(({ fingerprint256 }) => fingerprint256 === next?.fingerprint256)) break;
    chain.push(next);
  }
  return chain;
}
