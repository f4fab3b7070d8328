import type { CertificateAuthority } from "../../src/pki/certificates/certificate-authority.ts";
import { namesFor } from "../../src/machinery/api/names.ts";
import type { Profile } from "../../src/machinery/api/names.ts";
import { SeededRandom } from "../reliability/seeded-random.ts";
import { Administrator } from "./administrator.ts";
import type { FuzzRequest } from "./fuzz-request.ts";
import type { GeneratorContext } from "./generators/generator-context.ts";
import { generateRequest } from "./generators/generate-request.ts";
import { LatencyProbe } from "./latency-probe.ts";
import { minimise } from "./minimise.ts";
import { faultOf } from "./oracle.ts";
import { prepareScene } from "./prepare-scene.ts";
import { servedKinds } from "./served-kinds.ts";
import { StoredObjects } from "./stored-objects.ts";
import { NoAnswerError } from "./targets/fuzz-target.ts";
import type { FuzzTarget } from "./targets/fuzz-target.ts";
import { newClientCertificate, newFuzzAuthority, pemOf } from "./vocabulary.ts";

export interface FuzzOptions {
  readonly profile: Profile;
  readonly seed: number;
  /** The index of the first input. With `inputs` 1 it is sent alone. */
  readonly first?: number;
  readonly inputs: number;
  /** Only these kinds, by their names; default all. */
  readonly kinds?: readonly string[];
  /** More of the main thread's time for one input is a fault. Undefined: time is not judged. */
  readonly loopMilliseconds?: number;
  startTarget(options: { readonly profile: Profile; readonly authority: string }): Promise<FuzzTarget>;
  /** Ends the run after the batch that is under way: what was found so far is reported. */
  readonly signal?: AbortSignal;
  /** Called after each batch. */
  readonly onProgress?: (progress: FuzzProgress) => void;
}

export interface FuzzProgress {
  readonly inputs: number;
  readonly residentMebibytes: number;
  readonly finds: number;
}

/** A fault that an input revealed, once for each sort of fault. */
export interface Find {
  readonly fault: string;
  /** -1: not caused by a single input (objects that were read back, the server as a whole). */
  readonly index: number;
  /** How often it was seen. */
  count: number;
  /** The smallest request that shows it. */
  readonly request?: FuzzRequest;
  /** The answer's beginning. */
  readonly answer?: string;
}

export interface FuzzReport {
  readonly inputs: number;
  /** How many answers had each status. */
  readonly statuses: ReadonlyMap<number, number>;
  readonly finds: readonly Find[];
  /** After the first tenth (or the peak, when the run ended before), at the highest, and after everything that inputs made was removed. */
  readonly residentMebibytes: { readonly early: number; readonly peak: number; readonly afterwards: number };
  /** The main thread's time of the slowest input, in milliseconds. */
  readonly slowestMilliseconds: number;
  /** How long another client waited for a trivial answer during the run; 0 when time is not checked. */
  readonly longestWaitMilliseconds: number;
}

/** An input that waits for a revision holds up its batch for seconds: few batches, few such waits. */
const batchSize = 1_000;
/** Batches after which what is stored is read back and removed. */
const batchesUntilTidy = 2;
/** An input whose answer took longer is sent again alone, so that the thread's time is only this input's. */
const suspiciousMilliseconds = 100;
/** Inputs with larger bodies are sent alone from the start. */
const greatBodyBytes = 50_000;

/** Tries inputs on a server, each decided by seed and index alone, and collects what is wrong with the answers. */
export async function runFuzz(options: FuzzOptions): Promise<FuzzReport> {
  const authority = newFuzzAuthority();
  const target = await options.startTarget({ profile: options.profile, authority: pemOf(authority.certificate.der) });
  try {
    return await new FuzzRun(target, options, authority).run();
  } finally {
    await target.stop();
  }
}

class FuzzRun {
  readonly #target: FuzzTarget;
  readonly #options: FuzzOptions;
  readonly #administrator: Administrator;
  readonly #kinds;
  readonly #objects: StoredObjects;
  readonly #scene: Omit<GeneratorContext, "random" | "vocabulary">;
  readonly #statuses = new Map<number, number>();
  readonly #finds = new Map<string, Find>();
  #vocabulary: GeneratorContext["vocabulary"] | undefined;
  #slowestMilliseconds = 0;

  constructor(target: FuzzTarget, options: FuzzOptions, authority: CertificateAuthority) {
    const all = servedKinds(options.profile);
    const isWanted = ({ kind }: { readonly kind: string }): boolean => options.kinds?.includes(kind) ?? true;
    const wanted = { stored: all.stored.filter(isWanted), reviews: all.reviews.filter(isWanted) };
    this.#target = target;
    this.#options = options;
    this.#administrator = new Administrator(target);
    this.#kinds = all;
    this.#objects = new StoredObjects(target, all);
    this.#scene = {
      names: namesFor(options.profile),
      kinds: {
        stored: wanted.stored.length > 0 ? wanted.stored : all.stored,
        reviews: wanted.reviews.length > 0 ? wanted.reviews : all.reviews,
      },
      clientCertificate: newClientCertificate(authority, "system:node:node-1"),
      authorityKey: authority.privateKey,
    };
  }

  async run(): Promise<FuzzReport> {
    const { first = 0, inputs, profile, loopMilliseconds, onProgress } = this.#options;
    await this.#objects.remember();
    const prepare = async (): Promise<void> => {
      this.#vocabulary = await prepareScene(this.#target, { profile, kinds: this.#kinds });
    };
    await prepare();
    const probe = new LatencyProbe(this.#administrator);
    if (loopMilliseconds !== undefined) void probe.run();
    let early = 0;
    let peak = 0;
    let done = 0;
    for (let batch = 1; done < inputs && this.#goesOn(); batch++) {
      const count = Math.min(batchSize, inputs - done);
      await this.#sendBatch(first + done, count);
      done += count;
      const residentMebibytes = this.#target.residentMebibytes();
      peak = Math.max(peak, residentMebibytes);
      if (early === 0 && done >= inputs / 10) early = residentMebibytes;
      if (batch % batchesUntilTidy === 0 || done === inputs) {
        await this.#betweenBatches(prepare);
      }
      onProgress?.({ inputs: done, residentMebibytes, finds: this.#finds.size });
    }
    const afterwards = this.#target.residentMebibytes();
    return {
      inputs: done,
      statuses: this.#statuses,
      finds: [...this.#finds.values()],
      residentMebibytes: { early: early === 0 ? peak : early, peak, afterwards },
      slowestMilliseconds: this.#slowestMilliseconds,
      longestWaitMilliseconds: probe.stop(),
    };
  }

  #input(index: number): FuzzRequest {
    if (this.#vocabulary === undefined) throw new Error("the scene is not prepared");
    const random = new SeededRandom(Math.imul(this.#options.seed, 0x9e3779b1) ^ Math.imul(index + 1, 0x85ebca6b));
    return generateRequest({ ...this.#scene, random, vocabulary: this.#vocabulary });
  }

  /** Sends inputs on all lanes; those with great bodies, and those that took long, alone. */
  async #sendBatch(first: number, count: number): Promise<void> {
    const alone: number[] = [];
    const queue = Array.from({ length: count }, (_, offset) => first + offset).reverse();
    const lane = async (): Promise<void> => {
      for (let index = queue.pop(); index !== undefined && this.#isAlive(); index = queue.pop()) {
        const request = this.#input(index);
        if (request.body.length > greatBodyBytes) alone.push(index);
        else {
          const startedAt = performance.now();
          await this.#tryOut(index, request);
          if (performance.now() - startedAt > suspiciousMilliseconds) alone.push(index);
        }
      }
    };
    await Promise.all(Array.from({ length: this.#target.concurrency }, lane));
    for (const index of alone) if (this.#isAlive()) await this.#tryOut(index, this.#input(index), { isAlone: true });
    const { status } = await this.#administrator.send("GET", "/livez").catch(() => ({ status: 0 }));
    if (status !== 200)
      this.#note({ fault: `the server is not well: ${this.#target.endReason() ?? status}`, index: first });
    if ("polluted" in {}) this.#note({ fault: "the prototype of all objects was written to", index: first });
  }

  #goesOn(): boolean {
    return this.#isAlive() && !this.#isInterrupted();
  }

  /** Ctrl-C reaches the server as well, so a server that no longer answers is no fault then. */
  #isInterrupted(): boolean {
    return this.#options.signal?.aborted === true;
  }

  #isAlive(): boolean {
    return this.#target.endReason() === undefined;
  }

  async #tryOut(index: number, request: FuzzRequest, { isAlone = false } = {}): Promise<void> {
    const found = await this.#faultOf(request, { isAlone });
    if (found === undefined || this.#isInterrupted()) return;
    const known = this.#finds.get(keyOf(found.fault, request));
    if (known !== undefined) {
      known.count += 1;
      return;
    }
    const find = { ...found, index, count: 1, request };
    this.#finds.set(keyOf(found.fault, request), find);
    const shows = async (smaller: FuzzRequest): Promise<boolean> =>
      this.#isAlive() && (await this.#faultOf(smaller, { isAlone }))?.fault === found.fault;
    // A request that hangs would hang again at each try.
    if (found.fault.startsWith("no answer")) return;
    this.#finds.set(keyOf(found.fault, request), { ...find, request: await minimise(request, shows) });
  }

  /** Sends the input and judges the answer. Judges the time too when no other input is in flight. */
  async #faultOf(
    request: FuzzRequest,
    { isAlone }: { readonly isAlone: boolean },
  ): Promise<{ readonly fault: string; readonly answer?: string } | undefined> {
    const { loopMilliseconds } = this.#options;
    const before = isAlone ? this.#target.cpuMilliseconds() : 0;
    try {
      const answer = await this.#target.send(request);
      this.#statuses.set(answer.status, (this.#statuses.get(answer.status) ?? 0) + 1);
      const spent = isAlone && this.#isAlive() ? this.#target.cpuMilliseconds() - before : 0;
      this.#slowestMilliseconds = Math.max(this.#slowestMilliseconds, spent);
      const isSlow = loopMilliseconds !== undefined && spent > loopMilliseconds;
      const fault = faultOf(request, answer) ?? (isSlow ? "an answer that took too much time" : undefined);
      return fault === undefined ? undefined : { fault, answer: answer.body.toString("utf8", 0, 300) };
    } catch (error) {
      if (!this.#isAlive()) return { fault: `the process ended: ${this.#target.endReason()}` };
      if (error instanceof NoAnswerError) return { fault: error.message };
      return { fault: `the answer cannot be read: ${String(error)}` };
    }
  }

  async #betweenBatches(prepare: () => Promise<void>): Promise<void> {
    if (this.#isInterrupted()) return;
    try {
      await this.#tidy();
      await prepare();
    } catch (error) {
      if (!this.#isInterrupted()) throw error;
    }
  }

  async #tidy(): Promise<void> {
    if (!this.#isAlive()) return;
    for (const fault of await this.#objects.faults()) this.#note({ fault, index: -1 });
    await this.#objects.removeMade();
  }

  #note({ fault, index }: { readonly fault: string; readonly index: number }): void {
    if (this.#isInterrupted()) return;
    const known = this.#finds.get(fault);
    if (known === undefined) this.#finds.set(fault, { fault, index, count: 1 });
    else known.count += 1;
  }
}

/** One finding for each fault, method and resource, so that a run with a thousand occurrences reports it once. */
function keyOf(fault: string, { method, target }: FuzzRequest): string {
  const [path = ""] = target.split("?");
  const resource =
    path
      .split("/")
      .filter((part) => /^[a-z]+s$/.test(part) && part !== "namespaces")
      .at(0) ?? "";
  return `${fault} ${method} ${resource}`;
}
