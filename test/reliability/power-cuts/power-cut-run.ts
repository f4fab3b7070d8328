import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findDamagedPage } from "../../../src/machinery/storage/backends/find-damaged-page.ts";
import { LmdbStore } from "../../../src/machinery/storage/backends/lmdb.ts";
import { everyKey } from "../../../src/machinery/storage/key-range.ts";
import { diskSteps, traceFlags } from "./disk-trace.ts";
import type { DiskStep } from "./disk-trace.ts";
import { parseNotes } from "./power-cut-note.ts";
import { SeededRandom } from "../seeded-random.ts";

interface PowerCutOptions {
  /** A folder for the files of the test. */
  readonly directory: string;
  /** How often the process writes to a few keys at the same time. */
  readonly rounds: number;
  readonly seed: number;
  /** After how many steps there is a cut. 1: after each. */
  readonly stepsPerCut: number;
  /** Whether the disk ignores flushes, to see that losses are found. Default false. */
  readonly ignoresFlushes?: boolean;
}

interface PowerCutReport {
  readonly acknowledged: number;
  readonly cuts: number;
  /** Acknowledged writes that are gone, and stores that can't be used. */
  readonly losses: readonly string[];
}

/** What a disk writes whole, or not at all. */
const sectorBytes = 512;

/**
 * Traces a process that writes to a store, and then makes the file that a power cut could have left, for cuts between its steps: everything
 * that was flushed, and of the rest nothing, all, or any sectors. The store must open each of these files with every acknowledged write.
 */
export async function runPowerCuts({
  directory,
  rounds,
  seed,
  stepsPerCut,
  ignoresFlushes = false,
}: PowerCutOptions): Promise<PowerCutReport> {
  const [store, notes, trace] = ["store", "notes", "trace"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]; // as many as names
  await traceWriter({ store, notes, trace, rounds, seed });
  const disk = new CutDisk({ directory: join(directory, "after"), random: new SeededRandom(seed) });
  let steps = 0;
  for await (const step of diskSteps(trace, { notes })) {
    disk.take(step);
    if (step.type !== "note" && (steps += 1) % stepsPerCut === 0) await disk.cut();
    if (step.type !== "flush" || !ignoresFlushes) disk.complete(step);
  }
  return disk;
}

async function traceWriter(options: {
  readonly store: string;
  readonly notes: string;
  readonly trace: string;
  readonly rounds: number;
  readonly seed: number;
}): Promise<void> {
  const { store, notes, trace, rounds, seed } = options;
  const writer = join(import.meta.dirname, "power-cut-writer.ts");
  const words = [process.execPath, writer, store, notes, String(rounds), String(seed)];
  const child = spawn("strace", [...traceFlags([join(store, "store.mdb"), notes], trace), ...words], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`the traced process ended with ${String(code)}`);
}

/** The disk below a store, and what was noted of the store's writes. */
class CutDisk implements PowerCutReport {
  acknowledged = 0;
  cuts = 0;
  readonly losses: string[] = [];
  readonly #directory: string;
  readonly #random: SeededRandom;
  #durable = Buffer.alloc(0);
  /** Written, and not flushed. */
  #waiting: Extract<DiskStep, { readonly type: "write" }>[] = [];
  /** By key: the acknowledged number, and those of later writes without an acknowledgement. The first: 0, when it was deleted. */
  readonly #numbers = new Map<string, number[]>();
  #revision = 0;

  constructor({ directory, random }: { readonly directory: string; readonly random: SeededRandom }) {
    this.#directory = directory;
    this.#random = random;
  }

  /** A step begins. */
  take(step: DiskStep): void {
    if (step.type === "write") this.#waiting.push(step);
    if (step.type !== "note") return;
    for (const note of parseNotes(step.text)) {
      if (note.type === "begun") {
        this.#numbers.set(note.key, [...(this.#numbers.get(note.key) ?? [0]), note.number]);
      } else {
        this.acknowledged += 1;
        this.#numbers.set(note.key, [note.number]);
        this.#revision = Math.max(this.#revision, note.revision);
      }
    }
  }

  /** A step has ended. */
  complete(step: DiskStep): void {
    if (step.type === "write" && step.isDurable) {
      this.#waiting = this.#waiting.filter((waiting) => waiting !== step);
      this.#durable = written(this.#durable, step);
    } else if (step.type === "flush") {
      this.#durable = this.#waiting.reduce(written, this.#durable);
      this.#waiting = [];
    }
  }

  /** Makes the file that a power cut could leave now, and opens it. */
  async cut(): Promise<void> {
    if (this.#numbers.size === 0) return; // the store is being made
    this.cuts += 1;
    const file = this.#fileAfterCut();
    rmSync(this.#directory, { recursive: true, force: true });
    mkdirSync(this.#directory, { mode: 0o700 });
    writeFileSync(join(this.#directory, "store.mdb"), file, { mode: 0o600 });
    try {
      const damaged = findDamagedPage(
        { bytes: () => file.length, read: (target, position) => file.copy(target, 0, Math.min(position, file.length)) },
        { readsLog: true },
      );
      if (damaged !== undefined) this.losses.push(`cut ${this.cuts}: page ${damaged.page} is damaged`);
      await this.#examine();
    } catch (error) {
      this.losses.push(`cut ${this.cuts}: ${String(error)}`);
    }
  }

  #fileAfterCut(): Buffer {
    const likelihood = this.#random.pick([0, 0.5, 1]);
    let file = Buffer.from(this.#durable);
    for (const { position, bytes } of this.#waiting) {
      for (let at = 0; at < bytes.length; at += sectorBytes) {
        if (this.#random.next() >= likelihood) continue;
        file = written(file, { position: position + at, bytes: bytes.subarray(at, at + sectorBytes) });
      }
    }
    return file;
  }

  async #examine(): Promise<void> {
    const store = new LmdbStore({ directory: this.#directory, profile: "platform" });
    try {
      const { entries } = await store.range(everyKey);
      const found = new Map(entries.map(({ key, value }) => [key, numberIn(value)]));
      for (const [key, numbers] of this.#numbers) {
        const number = found.get(key) ?? 0;
        if (!numbers.includes(number))
          this.losses.push(`cut ${this.cuts}: ${key} has ${number}, not ${numbers.join(" or ")}`);
      }
      const revision = store.latestRevision();
      if (revision < this.#revision)
        this.losses.push(`cut ${this.cuts}: the revision is ${revision}, after ${this.#revision}`);
      const { isWritten } = await store.write({ key: "/after", value: Buffer.from("{}"), expectedRevision: 0 });
      if (!isWritten) this.losses.push(`cut ${this.cuts}: a new key is there already`);
    } finally {
      await store.close();
    }
  }
}

const numberIn = (value: Buffer): number => Number(/"number":(\d+)/.exec(value.toString())?.[1]);

/** The file with some bytes at a position, for which it may have to grow. */
function written(
  file: Buffer<ArrayBuffer>,
  { position, bytes }: { readonly position: number; readonly bytes: Buffer },
): Buffer<ArrayBuffer> {
  const end = position + bytes.length;
  const target = end <= file.length ? file : Buffer.concat([file, Buffer.alloc(end - file.length)]);
  bytes.copy(target, position);
  return target;
}
