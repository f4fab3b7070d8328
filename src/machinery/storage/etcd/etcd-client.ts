import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../api/thrown-error.ts";
import { StoreUnavailable, WriteOutcomeUnknown } from "../store.ts";
import { decodeStatus } from "./etcd-messages.ts";
import { hadNoEffect, isTransient, keepsConnection } from "./etcd-errors.ts";
import { GrpcChannel } from "../../grpc/grpc-channel.ts";
import type { Call, CallObserver } from "../../grpc/grpc-call.ts";
import type { TlsFiles } from "../../grpc/connect-socket.ts";
import { GrpcError } from "../../grpc/grpc-error.ts";

export interface EtcdClientOptions {
  /** `http://host:port` or `https://host:port` of each member. */
  readonly servers: readonly string[];
  /** Called for each connection, so that renewed files are used. */
  tls(): TlsFiles;
  /** How long to retry a call. Default 5,000: longer than an election takes. */
  readonly callMilliseconds?: number;
}

export interface EtcdCall {
  /** `/etcdserverpb.KV/Range`. */
  readonly path: string;
  readonly message: Uint8Array;
  /** Whether a second execution changes nothing more (idempotent). */
  readonly isRepeatable: boolean;
}

const CALL_MILLISECONDS = 5_000;
/** After this time without an answer to a read, the client tries another member. */
const READ_ATTEMPT_MILLISECONDS = 1_500;
const CONNECT_MILLISECONDS = 1_500;
const RETRY_MILLISECONDS = 50;
/** When reconnecting, the other members get this head start over the member that just failed. */
const HANDICAP_MILLISECONDS = 300;

/** The call that only the member itself answers, without its cluster. */
export const statusPath = "/etcdserverpb.Maintenance/Status";

interface Connection {
  readonly channel: GrpcChannel;
  readonly serverVersion: string;
}

/**
 * Calls one member of an etcd cluster, and switches to another when that one is gone, stopped or without a leader.
 * Throws StoreUnavailable when no member can be reached, WriteOutcomeUnknown when a call that is not repeatable may
 * have been executed, and GrpcError when etcd refuses the call.
 */
export class EtcdClient {
  readonly #options: Required<EtcdClientOptions>;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #leftServer = "";
  #isClosed = false;

  constructor(options: EtcdClientOptions) {
    this.#options = { callMilliseconds: CALL_MILLISECONDS, ...options };
  }

  /** The version of the current member; empty when there is none. */
  get serverVersion(): string {
    return this.#connection?.serverVersion ?? "";
  }

  async call({ path, message, isRepeatable }: EtcdCall): Promise<Buffer> {
    const { callMilliseconds } = this.#options;
    const deadline = performance.now() + callMilliseconds;
    for (;;) {
      const { channel } = this.#openConnection ?? (await this.#connected(deadline));
      try {
        return await channel.unary(path, message, isRepeatable ? READ_ATTEMPT_MILLISECONDS : callMilliseconds);
      } catch (error) {
        if (!(error instanceof GrpcError) || !isTransient(error)) throw error;
        if (!keepsConnection(error)) this.#leave(channel);
        if (!isRepeatable && error.mayHaveRun && !hadNoEffect(error)) {
          throw new WriteOutcomeUnknown(`etcd did not say whether it wrote: ${error.message}`, { cause: error });
        }
        if (performance.now() + RETRY_MILLISECONDS > deadline) throw unavailable(error);
        await delay(RETRY_MILLISECONDS);
      }
    }
  }

  /** Opens a call that streams messages in both directions. Rejects with StoreUnavailable. */
  async stream(path: string, observer: CallObserver): Promise<Call> {
    const { channel } = this.#openConnection ?? (await this.#connected(performance.now() + CONNECT_MILLISECONDS));
    return channel.stream(path, observer);
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.channel.close();
  }

  get #openConnection(): Connection | undefined {
    return this.#connection?.channel.isOpen === true ? this.#connection : undefined;
  }

  async #connected(deadline: number): Promise<Connection> {
    for (;;) {
      if (this.#isClosed) throw new StoreUnavailable("the store is closed");
      const open = this.#openConnection;
      if (open !== undefined) return open;
      this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
      try {
        return await this.#connecting;
      } catch (error) {
        if (performance.now() + RETRY_MILLISECONDS > deadline) throw unavailable(error);
        await delay(RETRY_MILLISECONDS);
      }
    }
  }

  /** Tries all members at once and uses the first that answers. */
  async #connect(): Promise<Connection> {
    const attempts = this.#options.servers.map((url) => this.#connectTo(url));
    let connection: Connection;
    try {
      connection = await Promise.any(attempts);
    } catch (error) {
      throw error instanceof AggregateError ? error.errors[0] : error;
    }
    for (const attempt of attempts) {
      attempt.then(
        ({ channel }) => channel !== connection.channel && channel.close(),
        () => {},
      );
    }
    if (this.#isClosed) connection.channel.close();
    this.#connection = connection;
    return connection;
  }

  async #connectTo(url: string): Promise<Connection> {
    if (url === this.#leftServer) await delay(HANDICAP_MILLISECONDS);
    const channel = await GrpcChannel.connect({
      url,
      tls: this.#options.tls(),
      timeoutMilliseconds: CONNECT_MILLISECONDS,
      // A member without quorum then fails immediately, instead of not answering or returning old data.
      headers: { hasleader: "true" },
    });
    try {
      const status = await channel.unary(statusPath, Buffer.alloc(0), CONNECT_MILLISECONDS);
      return { channel, serverVersion: decodeStatus(status).version };
    } catch (error) {
      channel.close();
      throw error;
    }
  }

  #leave(channel: GrpcChannel): void {
    this.#leftServer = channel.url;
    channel.close();
  }
}

const unavailable = (cause: unknown): StoreUnavailable =>
  new StoreUnavailable(`etcd can't be reached: ${messageOf(cause)}`, { cause });
