import { statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { messageOf } from "../../../../machinery/api/thrown-error.ts";
import type { Clock } from "../../../../machinery/api/clock.ts";
import { periodically } from "../../../../machinery/scheduling/periodically.ts";
import { UsageError } from "../../../../machinery/command-line/settings/flag.ts";
import type { OutsideKeyObserver } from "../../../../machinery/keys/outside-keys.ts";
import { GrpcError } from "../../../../machinery/grpc/grpc-error.ts";
import type { OpenedOperatorKeys } from "../operator-keys.ts";
import { ExternalSigner } from "./external-signer.ts";
import { externalSignerClient } from "./external-signer-client.ts";
import type { ExternalSignerClient } from "./external-signer-client.ts";
import type { Log } from "../../../../machinery/logging/log.ts";

interface OpenExternalSignerOptions {
  /** The path of the signer's socket. */
  readonly socket: string;
  readonly clock: Clock;
  readonly log: Log;
  readonly observer: OutsideKeyObserver | undefined;
}

/** How long to wait for a signer that is started together with this server. */
const patienceMilliseconds = 10_000;
const pauseMilliseconds = 250;
/** How often to check whether it is time to fetch the keys. */
const pollMilliseconds = 1_000;
/** Upstream's minimum of `max_token_expiration_seconds`. */
const minimumSeconds = 600;

/**
 * Connects to the signer, and reads its keys and the longest lifetime that it signs. Rejects with UsageError when the signer does not
 * answer within 10 s, or its answer breaks the rules.
 */
export async function openExternalSigner(options: OpenExternalSignerOptions): Promise<OpenedOperatorKeys> {
  const { socket, clock, log, observer } = options;
  const client = externalSignerClient(socket, observer);
  try {
    const maximumTokenExpirationSeconds = await maximumOf(client, options);
    const keys = await ExternalSigner.open({ socket, client, clock, pause, log, observer });
    const polling = periodically({
      milliseconds: pollMilliseconds,
      task: () => keys.pollWhenDue(),
      onFailure: (error) => log.error({ err: error }, "could not ask the external signer, will retry"),
    });
    return {
      keys,
      maximumTokenExpirationSeconds,
      close() {
        polling.stop();
        client.close();
      },
    };
  } catch (cause) {
    client.close();
    if (cause instanceof UsageError) throw cause;
    throw new UsageError(
      `--service-account-signing-endpoint: the signer at ${socket} can't be used: ${messageOf(cause)}`,
      {
        cause,
      },
    );
  }
}

async function maximumOf(
  client: ExternalSignerClient,
  { socket, log }: Pick<OpenExternalSignerOptions, "socket" | "log">,
): Promise<number> {
  const until = performance.now() + patienceMilliseconds;
  for (let isFirst = true; ; isFirst = false) {
    try {
      const { maximumTokenExpirationSeconds: seconds } = await client.metadata();
      if (seconds >= minimumSeconds) return seconds;
      throw new UsageError(
        `--service-account-signing-endpoint: the signer at ${socket} signs tokens of at most ${seconds} s: ` +
          `it must sign tokens of ${minimumSeconds} s (max_token_expiration_seconds)`,
      );
    } catch (error) {
      if (!isNotListening(error)) throw error;
      if (statSync(socket, { throwIfNoEntry: false })?.isSocket() === false) throw noSocket(socket);
      if (performance.now() > until) throw noSignerAnswers(socket, error);
      if (isFirst) log.warn({ socket }, "the external signer does not answer yet; waiting for it");
      await pause(pauseMilliseconds);
    }
  }
}

const noSocket = (socket: string): UsageError =>
  new UsageError(`--service-account-signing-endpoint: ${socket} is no socket: name the one where the signer listens`);

const noSignerAnswers = (socket: string, cause: unknown): UsageError =>
  new UsageError(
    `--service-account-signing-endpoint: no signer answers at ${socket}: ${messageOf(cause)}; start it, or name the ` +
      "socket where it listens",
    { cause },
  );

/** Whether no program listens on the socket yet. */
const isNotListening = (error: unknown): boolean => error instanceof GrpcError && !error.mayHaveRun;
