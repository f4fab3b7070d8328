import { timestamp } from "../../../machinery/api/clock.ts";
import type { Clock } from "../../../machinery/api/clock.ts";
import { spellingIn, spellingsOf } from "../../../machinery/api/names.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { messageOf } from "../../../machinery/api/thrown-error.ts";
import { ignoreCodes } from "../../../machinery/client/ignore-codes.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import { WorkQueue } from "../../../machinery/loops/work-queue.ts";
import { secretResource } from "../../core/index.ts";
import type { FoundSecret } from "./token-objects.ts";
import type { Log } from "../../../machinery/logging/log.ts";

/** After a write, successful or not, how long the next write for the same Secret waits. */
const pauseMilliseconds = 60_000;
/** The most Secrets whose next write waits. The uses of other Secrets are recorded later, when they are used again. */
const maximumPaused = 1000;
const dayMilliseconds = 24 * 3_600_000;

export interface UsedSecret {
  readonly namespace: string;
  readonly name: string;
  readonly secret: FoundSecret;
}

interface SecretTokenUsesOptions {
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Pick<Log, "error">;
  /** A client that may write Secrets. Called only while a request is answered. */
  readonly client: () => ApiClient;
}

/**
 * Labels a Secret with the UTC date on which its token was last used (upstream: `legacyValidator.patchSecretWithLastUsedDate`). Writes in
 * the background, one Secret after the other, and only when the label has another date than today or tomorrow. A failure is logged. The
 * next use of the token after a minute tries again.
 */
export class SecretTokenUses {
  readonly #options: SecretTokenUsesOptions;
  readonly #queue: WorkQueue;
  /** Until when nothing is written for a Secret, in milliseconds since the epoch, by the keys of the queue. */
  readonly #pausedUntil = new Map<string, number>();

  constructor(options: SecretTokenUsesOptions) {
    this.#options = options;
    this.#queue = new WorkQueue({
      concurrency: 1,
      // Caught, so that the queue does not try again: the next use of the token does.
      reconcile: (key) => this.#write(key).catch((error: unknown) => this.#logFailure(key, error)),
      onError: (key, error) => this.#logFailure(key, error),
    });
  }

  /** Notes a use of the Secret's token now. Runs on every use of a token. Never throws. */
  note({ namespace, name, secret }: UsedSecret): void {
    const { names, clock } = this.#options;
    const now = clock.now();
    const isNoted = spellingsOf(names, labelIn).some((label) => {
      const date = secret.labels?.[label];
      return date !== undefined && (date === dateOf(now) || date === dateOf(now + dayMilliseconds));
    });
    if (isNoted) return;
    const spelling = spellingIn(names, {
      map: secret.annotations,
      keyIn: (one) => one.key("service-account.name"),
    });
    // No part contains a line break: labels and names do not, and a uid is made by the server.
    const key = [namespace, name, secret.uid, labelIn(spelling)].join("\n");
    if (this.#isPaused(key, now)) return;
    this.#pausedUntil.set(key, now + pauseMilliseconds);
    this.#queue.add(key);
  }

  /** Resolves when every noted use is written, or its failure is logged. */
  whenIdle(): Promise<void> {
    return this.#queue.whenIdle();
  }

  /** Drops the uses that are not written yet. Resolves when the write that is under way has ended. */
  stop(): Promise<void> {
    return this.#queue.stop();
  }

  #isPaused(key: string, now: number): boolean {
    if ((this.#pausedUntil.get(key) ?? 0) > now) return true;
    if (this.#pausedUntil.size < maximumPaused) return false;
    for (const [one, until] of this.#pausedUntil) if (until <= now) this.#pausedUntil.delete(one);
    return this.#pausedUntil.size >= maximumPaused;
  }

  async #write(key: string): Promise<void> {
    const { names, clock, client } = this.#options;
    const [namespace = "", name = "", uid = "", label = ""] = key.split("\n");
    const body = { metadata: { uid, labels: { [label]: dateOf(clock.now()) } } };
    // The Secret may be gone, or replaced by a new one of the same name.
    await ignoreCodes([404, 409], client().resource(secretResource(names), namespace).patch(name, { body }));
  }

  #logFailure(key: string, error: unknown): void {
    const [namespace, name] = key.split("\n");
    this.#options.log.error(
      { namespace, secret: name, error: messageOf(error) },
      "could not label a Secret with the date on which its token was last used",
    );
  }
}

const labelIn = (names: Names): string => names.key("legacy-token-last-used");
const dateOf = (milliseconds: number): string => timestamp(milliseconds).slice(0, 10);
