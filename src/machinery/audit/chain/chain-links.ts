import type { KeyObject } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import type { LineLinks } from "../../files/lines/appended-file.ts";
import { readPrivateFile } from "../../files/private-file.ts";
import { startOfChain, checkpointLine, hashOf, linkedLine, parseLine } from "./chain-line.ts";
import type { ChainPosition, CheckpointType } from "./chain-line.ts";
import type { ChainWriters } from "./chain-writers.ts";

interface ChainLinksOptions {
  /** An Ed25519 key. */
  readonly privateKey: KeyObject;
  /** Where the newest checkpoint is kept, apart from the log, so that an attacker who cuts the log does not cut this too. */
  readonly checkpointFile: string;
  readonly checkpointMilliseconds: number;
  readonly writers: ChainWriters;
  readonly now: () => number;
  /** Called when the log ends before the newest checkpoint, or does not contain it. */
  readonly onCut: (cut: { readonly expected: number; readonly found: number }) => void;
  /** Called when the checkpoint file could not be written, so that the newest checkpoint is only in the log. The next one tries again. */
  readonly onNotKept: (error: unknown) => void;
}

/** A batch ends with a checkpoint when at least so many lines were written since the last one. */
const linesBetweenCheckpoints = 1000;

interface State extends ChainPosition {
  /** The last checkpoint that this process wrote. */
  readonly checkpoint: string | undefined;
  readonly signedSequence: number;
}

/**
 * Chains lines: each line has the hash of the previous line, and checkpoints are signed. The chain continues after the last line in the
 * file, so that several processes can write one chain.
 */
export class ChainLinks implements LineLinks {
  readonly #options: ChainLinksOptions;
  #state: State | undefined;
  #next: State | undefined;
  #signedAt: number;
  #isResumed = false;

  constructor(options: ChainLinksOptions) {
    this.#options = options;
    this.#signedAt = options.now();
  }

  /** Whether lines of this process wait for a checkpoint. */
  get isUnsigned(): boolean {
    return this.#state !== undefined && this.#state.signedSequence < this.#state.sequence;
  }

  begin(): readonly string[] {
    return [this.#checkpoint("begin")];
  }

  end(): readonly string[] {
    return [...this.#resume(), this.#checkpoint("end")];
  }

  continueAfter(lastLine: string): boolean {
    const line = parseLine(lastLine);
    if (line === undefined) return false;
    const { sequence } = line;
    const hash = hashOf(lastLine);
    if (this.#state === undefined) {
      const kept = this.#keptCheckpoint();
      if (kept !== undefined && (sequence < kept.sequence || (sequence === kept.sequence && hash !== kept.hash))) {
        this.#options.onCut({ expected: kept.sequence, found: sequence });
        return false;
      }
    }
    const signedSequence = line.checkpoint === undefined ? (this.#state?.signedSequence ?? 0) : sequence;
    this.#state = { sequence, hash, checkpoint: undefined, signedSequence };
    return true;
  }

  link(lines: readonly string[]): readonly string[] {
    const { now, checkpointMilliseconds } = this.#options;
    const linked: string[] = [...this.#resume()];
    for (const line of lines) {
      const next = linkedLine(line, this.#current());
      this.#advance(next);
      linked.push(next);
    }
    const { sequence, signedSequence } = this.#current();
    const isDue =
      sequence - signedSequence >= linesBetweenCheckpoints || now() - this.#signedAt >= checkpointMilliseconds;
    if (isDue && sequence > signedSequence) linked.push(this.#checkpoint("regular"));
    return linked;
  }

  commit(): void {
    const next = this.#next;
    this.#next = undefined;
    if (next === undefined) return;
    if (!this.#isResumed) this.#options.writers.join();
    this.#isResumed = true;
    this.#state = { ...next, checkpoint: undefined };
    if (next.checkpoint === undefined) return;
    this.#signedAt = this.#options.now();
    const { checkpointFile, onNotKept } = this.#options;
    try {
      // Without fsync: the file is written often, and an older checkpoint detects almost as much.
      writeFileSync(`${checkpointFile}.new`, `${next.checkpoint}\n`, { mode: 0o600 });
      renameSync(`${checkpointFile}.new`, checkpointFile);
    } catch (error) {
      // The lines are already written, and an error would make the caller write them again.
      onNotKept(error);
    }
  }

  rollBack(): void {
    this.#next = undefined;
  }

  close(): void {
    this.#options.writers.leave();
  }

  /** A checkpoint for lines of earlier processes that may not be signed. Empty when it is not needed. */
  #resume(): readonly string[] {
    // Not after `begin`, which begins a file, and not while another writer lives, which signs its own lines.
    const isDue = !this.#isResumed && this.#next === undefined && this.#options.writers.areGone();
    return isDue ? [this.#checkpoint("resume")] : [];
  }

  #checkpoint(type: CheckpointType): string {
    const { privateKey, now } = this.#options;
    const line = checkpointLine(type, { before: this.#current(), privateKey, now: now() });
    this.#advance(line);
    const { sequence, hash } = this.#current();
    this.#next = { sequence, hash, checkpoint: line, signedSequence: sequence };
    return line;
  }

  #advance(line: string): void {
    const { sequence, checkpoint, signedSequence } = this.#current();
    this.#next = { sequence: sequence + 1, hash: hashOf(line), checkpoint, signedSequence };
  }

  /** The state after which the next line is linked. */
  #current(): State {
    return (
      this.#next ??
      this.#state ??
      this.#keptCheckpoint() ?? { ...startOfChain, checkpoint: undefined, signedSequence: 0 }
    );
  }

  #keptCheckpoint(): State | undefined {
    const line = readPrivateFile(this.#options.checkpointFile)?.trimEnd();
    const parsed = line === undefined ? undefined : parseLine(line);
    if (line === undefined || parsed === undefined) return undefined;
    return { sequence: parsed.sequence, hash: hashOf(line), checkpoint: undefined, signedSequence: parsed.sequence };
  }
}
