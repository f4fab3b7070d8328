import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

/** What a process has asked of a file on the disk, in its order, with the notes that it wrote to another file meanwhile. */
export type DiskStep =
  /** `isDurable`: the call returns when the bytes are on the disk (O_DSYNC). */
  | { readonly type: "write"; readonly position: number; readonly bytes: Buffer; readonly isDurable: boolean }
  /** All earlier writes are on the disk. */
  | { readonly type: "flush" }
  | { readonly type: "note"; readonly text: string };

/** The flags of strace for a trace that `diskSteps` reads. */
export const traceFlags = (files: readonly string[], trace: string): string[] => [
  ...["--follow-forks", "--seccomp-bpf", "--strings-in-hex=all", "--string-limit=100000000", "--output", trace],
  ...["--trace=openat,close,lseek,write,writev,pwrite64,pwritev,fdatasync,fsync,ftruncate"],
  ...files.flatMap((file) => ["--trace-path", file]),
];

/** Of an open file: which one it is, and where its next write without a position goes. */
interface Opened {
  readonly isNotes: boolean;
  readonly isDurable: boolean;
  position: number;
}

/** Reads the trace of a process that writes one file, and notes. Throws for a call that it does not know. */
export async function* diskSteps(trace: string, { notes }: { readonly notes: string }): AsyncIterable<DiskStep> {
  const opened = new Map<number, Opened>();
  /** The beginnings of calls during which another thread made a call, by thread. */
  const unfinished = new Map<string, string>();
  for await (const line of createInterface({ input: createReadStream(trace) })) {
    const [, thread = "", rest = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    if (rest.endsWith(" <unfinished ...>")) {
      unfinished.set(thread, rest.slice(0, -" <unfinished ...>".length));
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest)?.[1];
    const call = resumed === undefined ? rest : `${unfinished.get(thread)}${resumed}`;
    const [, name = "", args = "", result = ""] = /^(\w+)\((.*)\) += (-?\d+)/.exec(call) ?? [];
    if (name !== "") yield* stepsOf({ name, args, result: Number(result) }, { opened, notes });
  }
}

interface TracedCall {
  readonly name: string;
  readonly args: string;
  readonly result: number;
}

function* stepsOf(
  { name, args, result }: TracedCall,
  { opened, notes }: { readonly opened: Map<number, Opened>; readonly notes: string },
): Iterable<DiskStep> {
  if (result < 0) return;
  if (name === "openat") {
    const [path = Buffer.alloc(0)] = textsOf(args);
    opened.set(result, { isNotes: path.toString() === notes, isDurable: args.includes("O_DSYNC"), position: 0 });
    return;
  }
  const descriptor = Number.parseInt(args, 10);
  const file = opened.get(descriptor);
  if (name === "close") opened.delete(descriptor);
  if (file === undefined || name === "close") return;
  if (name === "lseek") {
    file.position = result;
  } else if (name === "fdatasync" || name === "fsync") {
    yield { type: "flush" };
  } else if (name === "ftruncate") {
    throw new Error("the trace has an ftruncate, which this test does not know");
  } else {
    const bytes = Buffer.concat(textsOf(args));
    const isPositioned = name.startsWith("p");
    const position = isPositioned ? Number(args.slice(args.lastIndexOf(",") + 1)) : file.position;
    if (!isPositioned) file.position += bytes.length;
    if (file.isNotes) yield { type: "note", text: bytes.toString() };
    else yield { type: "write", position, bytes, isDurable: file.isDurable };
  }
}

/** The texts in the arguments of a call, each byte of which is written as `\x7b`. */
const textsOf = (args: string): Buffer[] =>
  [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, text = ""]) => Buffer.from(text.replaceAll("\\x", ""), "hex"));
