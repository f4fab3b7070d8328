import type { Socket } from "node:net";
import { systemSchedule } from "../../api/clock.ts";
import { RoundRobinQueue } from "../../scheduling/round-robin-queue.ts";
import { addressPath } from "../../scheduling/share-path.ts";
import { endpointsOf } from "./endpoints-of.ts";
import { startReading, stopReading } from "./socket-reading.ts";

/** How many handshakes begin in a turn. The first half of a handshake takes a quarter of a millisecond. */
const takenInTurn = 16;

/** How many handshakes are read on in a turn. The second half takes half a millisecond. */
const readInTurn = 2;

/**
 * A turn that has read an expensive chain of certificates takes longer than this. OpenSSL checks the signatures of a client's chain, which
 * takes up to 0.7 seconds with the slowest RSA keys. Node.js cannot limit a chain: OpenSSL accepts 100 KiB, and reads them in one turn.
 */
const longTurnMilliseconds = 20;

/**
 * While a connection is not read, nothing reports that its client has sent more. So it is read again after a pause, which is this part of
 * the time since its handshake began. This hardly delays a client, and a client that sends nothing is read seventy times until the time
 * for its handshake is over.
 */
const partOfTimeTaken = 1 / 8;

/** A handshake that has begun and not ended. */
interface Handshake {
  /** The socket below TLS. */
  readonly socket: Socket;
  readonly endpoints: string;
  readonly begunAtMilliseconds: number;
}

/**
 * Divides the handshakes of new connections into turns of the event loop. Node.js would read all connections in one turn, but hundreds of
 * clients reconnect together after an outage, and a hostile client can make each handshake expensive. The clients' addresses take turns.
 *
 * A handshake waits for a turn already with its first bytes, because a client of TLS 1.2 can send its chain with them. Only the kernel
 * knows whether the client has sent more, so each handshake is read for a turn, and then not for a while.
 */
export class HandshakeTurns {
  /** Steps that begin a handshake, or read one that has begun. Some of the connections may have closed. */
  readonly #waiting = new RoundRobinQueue<() => void>();
  readonly #secondsForFirstBytes: number;
  readonly #underWay = new Map<string, Handshake>();
  /** The handshakes that are read in this turn. The others are not read. */
  readonly #read = new Set<Handshake>();
  #isGivingTurns = false;

  constructor({ secondsForFirstBytes }: { readonly secondsForFirstBytes: number }) {
    this.#secondsForFirstBytes = secondsForFirstBytes;
  }

  /** Calls `begin` in the socket's turn; the caller then handles the socket. Ends a connection that fails or sends nothing in time. */
  add(socket: Socket, begin: () => void): void {
    const destroy = (): void => void socket.destroy();
    socket.on("error", destroy);
    socket.setTimeout(this.#secondsForFirstBytes * 1000, destroy);
    socket.once("readable", () => {
      socket.setTimeout(0, destroy);
      this.#addStep(socket, () => {
        if (socket.destroyed || socket.readableLength === 0) return destroy();
        socket.off("error", destroy);
        begin();
        this.#begin(socket);
      });
    });
  }

  /** Whether the handshake of a connection has begun and not ended. `socket`: the socket below TLS. */
  hasBegun(socket: Socket): boolean {
    return socket.readableLength > 0 || this.#underWay.has(endpointsOf(socket));
  }

  /** Call it when the handshake of a connection has ended: its bytes are then read at once. `socket`: the TLS one, or the one below it. */
  hasEnded(socket: Socket): void {
    const handshake = this.#underWay.get(endpointsOf(socket));
    if (handshake === undefined) return;
    this.#remove(handshake);
    startReading(handshake.socket);
  }

  #begin(socket: Socket): void {
    const endpoints = endpointsOf(socket);
    const handshake = { socket, endpoints, begunAtMilliseconds: performance.now() };
    this.#underWay.set(endpoints, handshake);
    socket.once("close", () => this.#remove(handshake));
    // Node.js reads the first bytes, and begins to read the connection, after the code that runs now.
    process.nextTick(() => this.#readLater(handshake));
  }

  #isUnderWay(handshake: Handshake): boolean {
    return this.#underWay.get(handshake.endpoints) === handshake;
  }

  #remove(handshake: Handshake): void {
    this.#read.delete(handshake);
    if (this.#isUnderWay(handshake)) this.#underWay.delete(handshake.endpoints);
  }

  #readLater(handshake: Handshake): void {
    if (!this.#isUnderWay(handshake)) return;
    const { socket, begunAtMilliseconds } = handshake;
    stopReading(socket);
    const read = (): void => {
      if (!this.#isUnderWay(handshake)) return;
      startReading(socket);
      this.#read.add(handshake);
    };
    const takenMilliseconds = performance.now() - begunAtMilliseconds;
    systemSchedule(() => this.#addStep(socket, read), takenMilliseconds * partOfTimeTaken);
  }

  #addStep(socket: Socket, step: () => void): void {
    this.#waiting.add(addressPath(socket.remoteAddress ?? ""), step);
    if (this.#isGivingTurns) return;
    this.#isGivingTurns = true;
    setImmediate(this.#giveTurn);
  }

  readonly #giveTurn = (): void => {
    const startedAt = performance.now();
    let taken = 0;
    const isLong = (): boolean => performance.now() - startedAt >= longTurnMilliseconds;
    const takeNext = (): void => {
      const mayTake = taken < takenInTurn && this.#read.size < readInTurn && (taken === 0 || !isLong());
      const next = mayTake ? this.#waiting.take() : undefined;
      if (next !== undefined) {
        taken++;
        next.item();
        // After Node.js has read the first bytes.
        return process.nextTick(takeNext);
      }
      this.#isGivingTurns = taken > 0;
      // Node.js reads the connections of this turn before it runs immediates.
      if (this.#isGivingTurns) setImmediate(endTurn);
    };
    const endTurn = (): void => {
      for (const handshake of this.#read) this.#readLater(handshake);
      this.#read.clear();
      // After a long turn, the open connections get as much time.
      if (isLong()) systemSchedule(this.#giveTurn, performance.now() - startedAt);
      else setImmediate(this.#giveTurn);
    };
    takeNext();
  };
}
