import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../api/thrown-error.ts";
import { noBytes } from "../../api/bytes/no-bytes.ts";
import { StoreUnavailable, WriteOutcomeUnknown, storeClosed } from "../store.ts";
import { decodeStatus } from "./etcd-messages.ts";
import { etcdMethods } from "./etcd-methods.ts";
import type { EtcdStatus } from "./etcd-messages.ts";
import { hadNoEffect, isTooLate, isTransient, keepsConnection } from "./etcd-errors.ts";
import { GrpcChannel } from "../../grpc/grpc-channel.ts";
import type { CallBounds } from "../../grpc/grpc-channel.ts";
import type { Call, CallObserver } from "../../grpc/grpc-call.ts";
import type { TlsFiles } from "../../grpc/connect-socket.ts";
import { AnswerTooLong, GrpcError, grpcStatus } from "../../grpc/grpc-error.ts";

export interface EtcdClientOptions {
  /** `http://host:port` or `https://host:port` of each member. */
  readonly servers: readonly string[];
  /** Returns the TLS files. Called for each connection, so that renewed files are used. Default: none. */
  tls?(): TlsFiles;
  /** How long to retry a call, in milliseconds. Default 5,000, which is longer than an election of a leader takes. */
  readonly callMilliseconds?: number;
}

export interface EtcdCall<Answer> {
  /** One of `etcdMethods`. */
  readonly path: string;
  readonly message: Uint8Array;
  /** Whether the call is idempotent: a second execution changes nothing more. */
  readonly isRepeatable: boolean;
  decode(answer: Buffer): Answer;
  /**
   * Called after each answer that was too late or too long. Returns a message that asks for less; undefined when that is not
   * possible.
   */
  smaller?(): Uint8Array | undefined;
}

/** Makes a call. Rejects with the errors of the Store contract; errors about a revision stay GrpcErrors. */
export type MakeEtcdCall = <Answer>(call: EtcdCall<Answer>) => Promise<Answer>;

const defaultCallMilliseconds = 5_000;
const readBounds: CallBounds = {
  /** After this time without a part of the answer, the client tries another member. */
  silenceMilliseconds: 1_500,
  /** The limit for an answer that keeps arriving. In this time, 16 MiB arrive over 3 Mbit/s: about the largest page of a range. */
  timeoutMilliseconds: 60_000,
  /** A page of a range has at least one object, and no object is so long. */
  maximumMessageBytes: 64 * 2 ** 20,
};
const connectMilliseconds = 1_500;
const retryMilliseconds = 50;
/** When reconnecting, the other members get this head start over the member that just failed. */
const handicapMilliseconds = 300;

interface EtcdAnswer {
  /** The member that sent it. */
  readonly url: string;
  readonly answer: Buffer;
}

interface MemberConnection {
  readonly channel: GrpcChannel;
  readonly serverVersion: string;
}

/**
 * Calls one member of an etcd cluster, and switches to another one when that member is unreachable, stopped or without a leader.
 * Throws StoreUnavailable when no member can be reached, WriteOutcomeUnknown when a call that is not repeatable may
 * have been executed, and GrpcError when etcd refuses the call or its answer can't be read.
 */
export class EtcdClient {
  readonly #options: Required<EtcdClientOptions>;
  #connection: MemberConnection | undefined;
  #connecting: Promise<MemberConnection> | undefined;
  #leftServer = "";
  /** The id of the first connection's cluster. Members of another cluster are refused: they have other objects and revisions. */
  #clusterId: number | undefined;
  #isClosed = false;

  constructor(options: EtcdClientOptions) {
    this.#options = { callMilliseconds: defaultCallMilliseconds, tls: () => ({}), ...options };
  }

  /** The version of the current member; empty when there is none. */
  get serverVersion(): string {
    return this.#connection?.serverVersion ?? "";
  }

  /** Asks the current member for its status. */
  status(): Promise<EtcdStatus> {
    return this.call({ path: etcdMethods.status, message: noBytes, isRepeatable: true, decode: decodeStatus });
  }

  async call<Answer>({ decode, ...call }: EtcdCall<Answer>): Promise<Answer> {
    const { url, answer } = await this.#answer(call);
    try {
      return decode(answer);
    } catch (cause) {
      // Another program listens at this address, or a proxy changes answers. The call may have been executed.
      const code = grpcStatus.internal;
      throw new GrpcError(`${url} sent an answer that can't be read: ${messageOf(cause)}`, {
        code,
        mayHaveRun: true,
        cause,
      });
    }
  }

  async #answer({
    path,
    message: first,
    isRepeatable,
    smaller,
  }: Omit<EtcdCall<unknown>, "decode">): Promise<EtcdAnswer> {
    const { callMilliseconds } = this.#options;
    const bounds = isRepeatable ? readBounds : { timeoutMilliseconds: callMilliseconds };
    let message = first;
    let deadline = performance.now() + callMilliseconds;
    for (;;) {
      const { channel } = this.#openConnection ?? (await this.#connected(deadline));
      const { receivedBytes } = channel;
      try {
        return { url: channel.url, answer: await channel.unary(path, { message, ...bounds }) };
      } catch (error) {
        if (!(error instanceof GrpcError)) throw error;
        const less = isTooLate(error) || error instanceof AnswerTooLong ? smaller?.() : undefined;
        message = less ?? message;
        if (error instanceof AnswerTooLong) {
          if (less === undefined) throw error;
          // The member answers, so the time for retries begins anew. Their number is bounded, because each asks for less.
          deadline = performance.now() + callMilliseconds;
          continue;
        }
        if (!isTransient(error)) throw error;
        // A member that has sent other data since the call works: other calls and watches need the connection.
        const isAlive = isTooLate(error) && channel.receivedBytes > receivedBytes;
        if (!isAlive && !keepsConnection(error)) this.#leave(channel);
        if (!isRepeatable && error.mayHaveRun && !hadNoEffect(error)) {
          throw new WriteOutcomeUnknown(`etcd did not say whether it wrote: ${error.message}`, { cause: error });
        }
        if (performance.now() + retryMilliseconds > deadline) throw unavailable(error);
        await delay(retryMilliseconds);
      }
    }
  }

  /** Opens a call that streams messages in both directions. Rejects with StoreUnavailable. */
  async stream(path: string, observer: CallObserver): Promise<Call> {
    const { channel } = this.#openConnection ?? (await this.#connected(performance.now() + connectMilliseconds));
    return channel.stream(path, observer);
  }

  close(): void {
    this.#isClosed = true;
    this.#connection?.channel.close();
  }

  get #openConnection(): MemberConnection | undefined {
    return this.#connection?.channel.isOpen === true ? this.#connection : undefined;
  }

  async #connected(deadline: number): Promise<MemberConnection> {
    for (;;) {
      if (this.#isClosed) throw storeClosed();
      const open = this.#openConnection;
      if (open !== undefined) return open;
      this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
      try {
        return await this.#connecting;
      } catch (error) {
        if (performance.now() + retryMilliseconds > deadline) throw unavailable(error);
        await delay(retryMilliseconds);
      }
    }
  }

  /** Tries all members at once and uses the first that answers. */
  async #connect(): Promise<MemberConnection> {
    const attempts = this.#options.servers.map((url) => this.#connectTo(url));
    let connection: MemberConnection;
    try {
      connection = await Promise.any(attempts);
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      const errors: readonly unknown[] = error.errors;
      throw errors.find((one) => one instanceof StoreUnavailable) ?? errors[0];
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

  async #connectTo(url: string): Promise<MemberConnection> {
    if (url === this.#leftServer) await delay(handicapMilliseconds);
    const channel = await GrpcChannel.connect({
      url,
      tls: this.#options.tls(),
      timeoutMilliseconds: connectMilliseconds,
      // With this header, a member without quorum fails immediately, instead of not answering or returning old data.
      headers: { hasleader: "true" },
    });
    try {
      const status = await channel.unary(etcdMethods.status, {
        message: noBytes,
        timeoutMilliseconds: connectMilliseconds,
      });
      const { version, clusterId, isLearner } = decodeStatus(status);
      if (isLearner) throw new Error(`${url} is a learner, which serves nothing until it is promoted`);
      this.#clusterId ??= clusterId;
      if (clusterId !== this.#clusterId) throw anotherCluster(url);
      return { channel, serverVersion: version };
    } catch (error) {
      channel.close();
      throw error;
    }
  }

  #leave(channel: GrpcChannel): void {
    this.#leftServer = channel.url;
    // A channel that takes no new calls (GOAWAY) closes by itself after its running calls: their writes may succeed.
    if (channel.isOpen) channel.close();
  }
}

const anotherCluster = (url: string): StoreUnavailable =>
  new StoreUnavailable(
    `${url} is of another cluster than the one that this process has used: if etcd was restored, restart all servers; if not, ` +
      "name members of one cluster",
  );

const unavailable = (cause: unknown): StoreUnavailable =>
  new StoreUnavailable(`etcd can't be reached: ${messageOf(cause)}`, { cause });
