import type { X509Certificate } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { Connection } from "../../api/http-message.ts";
import type { UserInfo } from "../../api/user-info.ts";
import { sharePath } from "../../scheduling/share-path.ts";
import type { ConnectionShares } from "./connection-shares.ts";
import { endpointsOf } from "./endpoints-of.ts";
import type { WaitingRequests } from "./waiting-requests.ts";

/** Longer chains are cut. A verifier then misses certificates and refuses the chain. */
const maximumChainLength = 10;

export interface BreakableExchange {
  /** Call it when the rest of the request, or the next request, is malformed. Returns whether the exchange's answer ends the connection. */
  breakOff(): boolean;
}

/** A connection, as requests see it. Expensive properties are computed once, on first use. */
export class TlsConnection implements Connection {
  readonly #socket: TLSSocket;
  #peerCertificates: readonly X509Certificate[] | undefined;
  readonly #shares: ConnectionShares;
  readonly remoteAddress: string;
  /** Whether the connection counts in its user's share of connections. False for users without a name or with too many connections. */
  isInShare = false;
  /** The number of exchanges that have not ended. */
  openExchanges = 0;
  /** The last exchange of HTTP/1.1 until it ends. An idle connection keeps nothing of its requests. */
  lastExchange: BreakableExchange | undefined;
  /** Set when one of its requests had to wait for a turn. */
  waiting: WaitingRequests | undefined;
  /** When the last exchange started or ended, in the listener's seconds. */
  activeAtSecond: number;

  constructor(
    socket: TLSSocket,
    { nowSecond, shares }: { readonly nowSecond: number; readonly shares: ConnectionShares },
  ) {
    this.#socket = socket;
    this.#shares = shares;
    this.remoteAddress = socket.remoteAddress ?? "";
    this.activeAtSecond = nowSecond;
  }

  /** Whether the client waits for an answer, or has not read all of it. */
  get isBusy(): boolean {
    return this.openExchanges > 0 || this.waiting?.isWaiting === true || this.#socket.writableLength > 0;
  }

  isUsedBy(user: UserInfo): void {
    if (this.isInShare || this.#socket.destroyed) return;
    const release = this.#shares.take(this.remoteAddress, sharePath(user));
    if (release === undefined) return;
    this.isInShare = true;
    this.#socket.once("close", release);
  }

  get endpoints(): string {
    return endpointsOf(this.#socket);
  }

  /** Closes the connection immediately, without waiting for the client. */
  destroy(): void {
    this.#socket.destroy();
  }

  /**
   * Sessions are never resumed or renegotiated, so the peer has proved these certificates in this connection's
   * handshake.
   */
  get peerCertificates(): readonly X509Certificate[] {
    this.#peerCertificates ??= chainOf(this.#socket.getPeerX509Certificate());
    return this.#peerCertificates;
  }
}

/** The certificates that the peer has sent, in its order. */
function chainOf(leaf: X509Certificate | undefined): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  for (let next = leaf; next && chain.length < maximumChainLength; next = next.issuerCertificate) chain.push(next);
  return chain;
}
