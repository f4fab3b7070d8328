import { millisecondsSince } from "../api/clock.ts";
import type { Clock } from "../api/clock.ts";
import type { MaybePromise } from "../api/maybe-promise.ts";
import { FairShare } from "../scheduling/fair-share.ts";
import { UnusableAnswer } from "./post-json.ts";

/** The other side cannot be asked now: it has failed too often, or too many questions wait for it. */
export class RemoteUnavailable extends Error {}

/** Too many questions wait. That is the doing of those who ask: the other side may be well. */
export class TooManyQuestions extends RemoteUnavailable {}

interface Question {
  /** Questions with the same key are the same one. */
  readonly key: string;
  /** Who asks. Undefined: nobody that is known. */
  readonly asker?: string;
}

export interface KeptAnswer {
  /** Good and bad answers are kept apart, so that made-up questions do not push out good answers. */
  readonly isGood: boolean;
  /** 0: the answer is not kept. */
  readonly milliseconds: number;
}

export interface RemoteQuestionsOptions<Answer> {
  readonly clock: Clock;
  /**
   * Questions that wait for their answer, from one asker at most three quarters of those that the others leave. More are refused at
   * once, so that they hold nothing else up.
   */
  readonly maximumPending: number;
  /** The newest answers that are kept, of good and of bad ones. */
  readonly maximumKept: number;
  readonly keep: (answer: Answer) => KeptAnswer;
  /** Called when the other side becomes unavailable, and when it answers again. */
  readonly onChange: (change: { readonly isAvailable: boolean; readonly error?: unknown }) => void;
}

/** After so many questions in a row that had no answer at all, questions are refused at once until the pause is over. */
const toleratedFailures = 5;
const pauseMilliseconds = 10_000;
const sharePerAsker = 0.75;
/** Who asks when it is not known. It may take all. */
const nobody = "";

/**
 * Questions to another server, which requests wait for: answers are kept for a time, the same question is asked once at a
 * time, and a server that does not answer delays no request for long. An answer that cannot be used is one: whoever can ask a
 * question that the other side refuses must not keep it from others.
 */
export class RemoteQuestions<Answer> {
  readonly #options: RemoteQuestionsOptions<Answer>;
  readonly #good: AnswerCache<Answer>;
  readonly #bad: AnswerCache<Answer>;
  readonly #pending = new Map<string, Promise<Answer>>();
  readonly #share: FairShare;
  #failures = 0;
  #pausedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RemoteQuestionsOptions<Answer>) {
    this.#options = options;
    this.#good = new AnswerCache(options);
    this.#bad = new AnswerCache(options);
    this.#share = new FairShare({ places: options.maximumPending, sharePerUser: sharePerAsker });
  }

  /**
   * The answer to a question. Rejects with what `ask` rejects with; throws RemoteUnavailable when
   * the other side is not asked, and TooManyQuestions when that is because too many wait.
   */
  ask({ key, asker = nobody }: Question, ask: () => Promise<Answer>): MaybePromise<Answer> {
    const { clock } = this.#options;
    const known = this.#good.find(key) ?? this.#bad.find(key);
    if (known !== undefined) return known.answer;
    const running = this.#pending.get(key);
    if (running !== undefined) return running;
    const mayWait = asker === nobody ? !this.#share.isFull : this.#share.mayTake(asker);
    if (!mayWait) throw new TooManyQuestions("too many questions wait for it");
    const isPaused = millisecondsSince(this.#pausedAt, clock) < pauseMilliseconds;
    if (isPaused) throw new RemoteUnavailable("it has failed too often");
    // The pause is over: one question tries it, the others are refused until it has an answer.
    if (this.#failures >= toleratedFailures) this.#pausedAt = clock.now();
    const asked = this.#answer(key, ask).finally(() => {
      this.#pending.delete(key);
      this.#share.release(asker);
    });
    this.#pending.set(key, asked);
    this.#share.take(asker);
    return asked;
  }

  async #answer(key: string, ask: () => Promise<Answer>): Promise<Answer> {
    const { clock, keep, onChange } = this.#options;
    let answer;
    try {
      answer = await ask();
    } catch (error) {
      if (error instanceof UnusableAnswer) {
        this.#answered();
        throw error;
      }
      this.#failures += 1;
      if (this.#failures >= toleratedFailures) this.#pausedAt = clock.now();
      if (this.#failures === toleratedFailures) onChange({ isAvailable: false, error });
      throw error;
    }
    this.#answered();
    const { isGood, milliseconds } = keep(answer);
    if (milliseconds > 0) (isGood ? this.#good : this.#bad).keep(key, { answer, keptAt: clock.now(), milliseconds });
    return answer;
  }

  #answered(): void {
    if (this.#failures >= toleratedFailures) this.#options.onChange({ isAvailable: true });
    this.#failures = 0;
    this.#pausedAt = Number.NEGATIVE_INFINITY;
  }
}

interface Kept<Answer> {
  readonly answer: Answer;
  readonly keptAt: number;
  readonly milliseconds: number;
}

/** The answers that were used last. */
class AnswerCache<Answer> {
  readonly #kept = new Map<string, Kept<Answer>>();
  readonly #maximum: number;
  readonly #clock: Clock;

  constructor({ maximumKept, clock }: { readonly maximumKept: number; readonly clock: Clock }) {
    this.#maximum = maximumKept;
    this.#clock = clock;
  }

  find(key: string): Kept<Answer> | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined) return undefined;
    this.#kept.delete(key);
    if (millisecondsSince(kept.keptAt, this.#clock) >= kept.milliseconds) return undefined;
    this.#kept.set(key, kept);
    return kept;
  }

  keep(key: string, kept: Kept<Answer>): void {
    this.#kept.set(key, kept);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > this.#maximum && oldest !== undefined) this.#kept.delete(oldest);
  }
}
