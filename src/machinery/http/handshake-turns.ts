import type { Socket } from "node:net";
import { RoundRobinQueue } from "../scheduling/round-robin-queue.ts";
import { pathOfAddress } from "./connection-bound.ts";
import { peerOf } from "./peer-of.ts";

/** The first half of a handshake takes a quarter of a millisecond: so many take about as long as a turn. */
const begunInTurn = 16;

/**
 * The second half brings the client's chain of certificates, and OpenSSL checks its signatures. That takes half a millisecond, or up to
 * 140 ms with the largest keys that fit in.
 */
const readInTurn = 2;

/** A turn that has read such a chain takes longer than this. */
const longTurnMilliseconds = 20;

/** What Node.js has of a socket that only it can read. */
interface SocketHandle {
  readStart(): void;
  readStop(): void;
}

/**
 * Divides the handshakes of new connections into turns of the event loop. Node.js would read all connections in one turn: hundreds of
 * clients come back together after an outage, and one that is hostile can make each handshake expensive. Addresses take turns.
 *
 * A handshake begins when its first bytes have come. What the client sends next, only the kernel knows of: when more handshakes are under
 * way than one turn may read, each is read for a turn and waits for its next one.
 */
export class HandshakeTurns {
  readonly #toBegin = new RoundRobinQueue<() => void>();
  readonly #secondsForFirstBytes: number;
  #begun = 0;

  /** The handshakes that have begun and not ended. */
  readonly #underWay = new Map<string, Socket>();
  /** Those of them that are read now. */
  #read = new Set<Socket>();
  /** The others, which are not read. Some may have ended. */
  readonly #toRead = new RoundRobinQueue<Socket>();
  #isGivingTurns = false;
  #hasOneEnded = false;

  constructor({ secondsForFirstBytes }: { readonly secondsForFirstBytes: number }) {
    this.#secondsForFirstBytes = secondsForFirstBytes;
  }

  /** Calls `begin`, after which others care for the socket, or ends the connection: it has closed, failed, or sent nothing in time. */
  add(socket: Socket, begin: () => void): void {
    const destroy = (): void => void socket.destroy();
    socket.on("error", destroy);
    socket.setTimeout(this.#secondsForFirstBytes * 1000, destroy);
    socket.once("readable", () => {
      socket.setTimeout(0, destroy);
      this.#toBegin.add(pathOfAddress(socket.remoteAddress ?? ""), () => {
        if (socket.destroyed || socket.readableLength === 0) return destroy();
        socket.off("error", destroy);
        begin();
        this.#hasBegun(socket);
      });
      if (this.#begun === 0) setImmediate(this.#beginNext);
      this.#beginWaiting();
    });
  }

  /** The handshake of this connection has ended: from now on it is read as it comes. `socket`: of TLS, or below it. */
  hasEnded(socket: Socket): void {
    const peer = peerOf(socket);
    const below = this.#underWay.get(peer);
    if (below === undefined) return;
    this.#underWay.delete(peer);
    // What is not read waits, and is read in its turn: two connections to different addresses of this machine may have the same peer.
    if (this.#read.delete(below)) this.#hasOneEnded = true;
  }

  readonly #beginNext = (): void => {
    this.#begun = 0;
    this.#beginWaiting();
    if (this.#begun > 0) setImmediate(this.#beginNext);
  };

  #beginWaiting(): void {
    while (this.#begun < begunInTurn) {
      const next = this.#toBegin.take();
      if (next === undefined) return;
      this.#begun++;
      next.item();
    }
  }

  #hasBegun(socket: Socket): void {
    const peer = peerOf(socket);
    this.#underWay.set(peer, socket);
    socket.once("close", () => {
      if (this.#read.delete(socket)) this.#hasOneEnded = true;
      if (this.#underWay.get(peer) === socket) this.#underWay.delete(peer);
    });
    // Node.js reads the first bytes, and begins to read the connection, when what runs now has ended.
    process.nextTick(() => {
      if (!this.#isUnderWay(socket)) return;
      if (!this.#isGivingTurns && this.#read.size < readInTurn) return void this.#read.add(socket);
      this.#wait(socket);
      if (this.#isGivingTurns) return;
      this.#isGivingTurns = true;
      setTimeout(this.#giveTurns, 1);
    });
  }

  #isUnderWay(socket: Socket): boolean {
    return !socket.destroyed && this.#underWay.get(peerOf(socket)) === socket;
  }

  #wait(socket: Socket): void {
    handleOf(socket)?.readStop();
    this.#toRead.add(pathOfAddress(socket.remoteAddress ?? ""), socket);
  }

  /** What is read now, Node.js reads before it runs immediates. */
  readonly #giveTurns = (): void => {
    for (const socket of this.#read) this.#wait(socket);
    this.#read = new Set();
    while (this.#read.size < readInTurn) {
      const next = this.#toRead.take();
      if (next === undefined) break;
      handleOf(next.item)?.readStart();
      if (this.#isUnderWay(next.item)) this.#read.add(next.item);
    }
    this.#isGivingTurns = this.#underWay.size > this.#read.size;
    if (!this.#isGivingTurns) return;
    this.#hasOneEnded = false;
    const startedAt = performance.now();
    setImmediate(() => {
      const milliseconds = performance.now() - startedAt;
      // After a long turn, those who have connections get as much time.
      if (milliseconds >= longTurnMilliseconds) setTimeout(this.#giveTurns, milliseconds);
      else if (this.#hasOneEnded) setImmediate(this.#giveTurns);
      else setTimeout(this.#giveTurns, 1);
    });
  };
}

/** Undefined: the socket is closed. A socket that TLS reads cannot be paused otherwise: Node.js offers nothing for that. */
const handleOf = (socket: Socket): SocketHandle | undefined =>
  Reflect.get(socket, "_handle") as SocketHandle | undefined; // what Node.js keeps there, since its first versions
