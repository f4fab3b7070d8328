import { deserialize, serialize } from "node:v8";
import { millisecondsSince } from "../../api/clock.ts";
import type { Clock } from "../../api/clock.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { RecentlyUsed } from "../../api/recently-used.ts";
import { FairShare } from "../../scheduling/fair-share.ts";
import type { SharePath } from "../../scheduling/share-path.ts";
import { FailedAnswer, UnusableAnswer } from "./post-json.ts";

/** The other side cannot be asked now: it has failed too often, or too many questions wait for it. */
export class RemoteUnavailable extends Error {}

/** Too many questions wait. This is caused by those who ask; the other side may work well. */
export class TooManyQuestions extends RemoteUnavailable {}

interface Question {
  /** Questions with the same key share one answer. */
  readonly key: string;
  /** Whose share of the waiting questions it takes. Called only when the answer is not known yet. */
  readonly asker: () => SharePath;
  /** What is paused when it gets no answer. Default: the asker. */
  readonly pausedAs?: string;
}

interface KeptAnswer {
  /** Good and bad answers are kept apart, so that invented questions do not evict good answers. */
  readonly isGood: boolean;
  /** 0: the answer is not kept. */
  readonly milliseconds: number;
}

export interface RemoteQuestionsOptions<Answer> {
  readonly clock: Clock;
  /**
   * How many questions may wait for their answers. One asker may have three quarters of the places that the others of its level leave. More
   * questions are refused at once, so that they delay nothing else.
   */
  readonly maximumPending: number;
  /** What begins a pause, in which questions are refused at once. The counts begin again with each answer. Infinity: no pause. */
  readonly pauseAfter: {
    /** After so many unanswered questions, one asker is paused. The pause must not let the asker avoid a check. */
    readonly failuresOfAsker: number;
    /** After so many askers without an answer, all are paused. It must be more askers than one person can control. */
    readonly askers: number;
  };
  /** How many good and how many bad answers are kept, the newest ones. At most 16 MiB of each. */
  readonly maximumKept: number;
  readonly keep: (answer: Answer) => KeptAnswer;
  /** Called when the other side becomes unavailable, and when it answers again. */
  readonly onChange: (change: { readonly isAvailable: boolean; readonly error?: unknown }) => void;
}

/** After so many questions in a row that had no answer at all, the other side counts as unavailable. */
const toleratedFailures = 5;
const pauseMilliseconds = 10_000;
const maximumUnanswered = 1000;
const sharePerAsker = 0.75;
const maximumKeptBytes = 16 * 1024 * 1024;

/**
 * Questions to another server, for whose answers requests wait. Answers are kept for a time. A question that is asked several times at the
 * same time is sent once. A server that does not answer delays no request for long.
 *
 * A user whose questions the other side refuses, or fails on, must not stop the questions of others. So an answer that cannot be used
 * counts as an answer. A question without an answer counts only if no other question was answered since it was asked. It counts against its
 * asker, and service accounts of one namespace are one asker. The others are paused only when many askers get no answer.
 */
export class RemoteQuestions<Answer> {
  readonly #options: RemoteQuestionsOptions<Answer>;
  readonly #good: AnswerCache<Answer>;
  readonly #bad: AnswerCache<Answer>;
  readonly #pending = new Map<string, Promise<Answer>>();
  readonly #share: FairShare;
  #failures = 0;
  /** The askers of unanswered questions since the last answer. The oldest are removed. */
  readonly #unanswered = new Map<string, UnansweredAsker>();
  #answers = 0;
  /** When all askers were paused last. */
  #pausedAt = Number.NEGATIVE_INFINITY;

  constructor(options: RemoteQuestionsOptions<Answer>) {
    this.#options = options;
    this.#good = new AnswerCache(options);
    this.#bad = new AnswerCache(options);
    this.#share = new FairShare({ places: options.maximumPending, sharePerUser: sharePerAsker });
  }

  /**
   * The answer to a question. Rejects with the error of `ask`. Throws RemoteUnavailable when the other side is not asked, and
   * TooManyQuestions when the reason is that too many questions wait.
   */
  ask({ key, asker, pausedAs }: Question, ask: () => Promise<Answer>): MaybePromise<Answer> {
    const known = this.#good.find(key) ?? this.#bad.find(key);
    if (known !== undefined) return known.answer;
    const running = this.#pending.get(key);
    if (running !== undefined) return running;
    const path = asker();
    const sharer = pausedAs ?? path[1];
    if (!this.#share.mayTake(path)) throw new TooManyQuestions("too many questions wait for it");
    if (this.#isPaused(sharer)) throw new RemoteUnavailable("it has failed too often");
    // If a pause has ended, begins the next one: only this question is sent, the others are refused until it is answered.
    this.#pauseIfFailing(sharer);
    const asked = this.#answer({ key, sharer }, ask).finally(() => {
      this.#pending.delete(key);
      this.#share.release(path);
    });
    this.#pending.set(key, asked);
    this.#share.take(path);
    return asked;
  }

  async #answer(
    { key, sharer }: { readonly key: string; readonly sharer: string },
    ask: () => Promise<Answer>,
  ): Promise<Answer> {
    const answersBefore = this.#answers;
    let answer: Answer;
    try {
      answer = await ask();
    } catch (error) {
      if (error instanceof UnusableAnswer || error instanceof FailedAnswer) this.#answered();
      else if (this.#answers === answersBefore) this.#failed(error, sharer);
      throw error;
    }
    this.#answered();
    const { isGood, milliseconds } = this.#options.keep(answer);
    if (milliseconds > 0) (isGood ? this.#good : this.#bad).keep(key, { answer, milliseconds });
    return answer;
  }

  #failed(error: unknown, sharer: string): void {
    this.#failures += 1;
    const own = this.#unanswered.get(sharer) ?? { failures: 0, pausedAt: Number.NEGATIVE_INFINITY };
    own.failures += 1;
    this.#unanswered.set(sharer, own);
    const [oldest = sharer] = this.#unanswered.keys();
    if (this.#unanswered.size > maximumUnanswered) this.#unanswered.delete(oldest);
    this.#pauseIfFailing(sharer);
    if (this.#failures === toleratedFailures) this.#options.onChange({ isAvailable: false, error });
  }

  #isPaused(sharer: string): boolean {
    const pauses = [this.#pausedAt, this.#unanswered.get(sharer)?.pausedAt ?? Number.NEGATIVE_INFINITY];
    return pauses.some((pausedAt) => millisecondsSince(pausedAt, this.#options.clock) < pauseMilliseconds);
  }

  #pauseIfFailing(sharer: string): void {
    const { clock, pauseAfter } = this.#options;
    const own = this.#unanswered.get(sharer);
    if (own !== undefined && own.failures >= pauseAfter.failuresOfAsker) own.pausedAt = clock.now();
    if (this.#unanswered.size >= pauseAfter.askers) this.#pausedAt = clock.now();
  }

  #answered(): void {
    this.#answers += 1;
    if (this.#failures >= toleratedFailures) this.#options.onChange({ isAvailable: true });
    this.#failures = 0;
    this.#unanswered.clear();
    this.#pausedAt = Number.NEGATIVE_INFINITY;
  }
}

interface UnansweredAsker {
  /** Unanswered questions in a row. */
  failures: number;
  pausedAt: number;
}

interface Kept<Answer> {
  readonly answer: Answer;
  readonly keptAt: number;
  readonly milliseconds: number;
  readonly bytes: number;
}

/** Keeps the most recently used answers. */
class AnswerCache<Answer> {
  readonly #kept: RecentlyUsed<Kept<Answer>>;
  readonly #clock: Clock;

  constructor({ maximumKept, clock }: { readonly maximumKept: number; readonly clock: Clock }) {
    const maximumWeight = maximumKeptBytes;
    this.#kept = new RecentlyUsed({ maximumEntries: maximumKept, maximumWeight, weightOf: ({ bytes }) => bytes });
    this.#clock = clock;
  }

  find(key: string): Kept<Answer> | undefined {
    const kept = this.#kept.get(key);
    if (kept === undefined || millisecondsSince(kept.keptAt, this.#clock) < kept.milliseconds) return kept;
    this.#kept.delete(key);
    return undefined;
  }

  keep(key: string, { answer, milliseconds }: Pick<Kept<Answer>, "answer" | "milliseconds">): void {
    // A copy, because a text that was cut from a longer text keeps all of that text in memory.
    const encoded = serialize(answer);
    const copy = deserialize(encoded) as Answer; // what was encoded in the line above
    this.#kept.set(key, { answer: copy, keptAt: this.#clock.now(), milliseconds, bytes: encoded.length });
  }
}
