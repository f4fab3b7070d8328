/** A command in a document, and the output lines below it. */
export interface ConsoleCommand {
  readonly command: string;
  readonly output: string;
}

const fence = /```console\n([\s\S]*?)```/g;

/** The commands of all ```console blocks, in order. `$ ` starts a command; `\` at the end of a line continues it. */
export function consoleCommands(markdown: string): ConsoleCommand[] {
  const commands: { command: string; output: string }[] = [];
  for (const [, block = ""] of markdown.matchAll(fence)) {
    let isCommand = false;
    for (const line of block.split("\n").slice(0, -1)) {
      const last = commands.at(-1);
      if (line.startsWith("$ ")) commands.push({ command: line.slice(2), output: "" });
      else if (isCommand && last !== undefined) last.command += `\n${line}`;
      else if (last !== undefined) last.output += `${line}\n`;
      isCommand = line.endsWith("\\") || (isCommand && line.endsWith("\\"));
    }
  }
  return commands;
}

/** The fenced blocks that begin with a comment that names their file, such as `# policy.yaml` or `// verify.mjs`. */
export const blocksNamed = (markdown: string): { name: string; text: string }[] =>
  [...markdown.matchAll(/```[a-z]+\n((?:#|\/\/) ([\w-]+\.[a-z]+)\n[\s\S]*?)```/g)].map(([, text = "", name = ""]) => ({
    name,
    text,
  }));

/** The document with the outputs of its commands replaced, in order. */
export function withOutputs(markdown: string, outputs: readonly string[]): string {
  const next = outputs.values();
  return markdown.replace(fence, (_, block: string) => {
    const lines: string[] = [];
    let isCommand = false;
    for (const line of block.split("\n").slice(0, -1)) {
      const begins = line.startsWith("$ ");
      if (!begins && !isCommand) continue;
      lines.push(line);
      isCommand = line.endsWith("\\");
      if (!isCommand) lines.push(...outputLines(next.next().value ?? ""));
    }
    return `\`\`\`console\n${lines.map((line) => `${line}\n`).join("")}\`\`\``;
  });
}

/**
 * Replaces the first word of each pair by the second, all in one pass: a replacement is not replaced again. Words inside
 * longer numbers or names stay: a port of five digits may be part of a time or a hash.
 */
export function wordReplacer(pairs: readonly (readonly [string, string])[]): (text: string) => string {
  const replacements = new Map(pairs);
  if (replacements.size === 0) return (text) => text;
  const words = [...replacements.keys()].map((word) => word.replaceAll(/\W/g, "\\$&"));
  const anyWord = new RegExp(`(?<!\\w)(?:${words.join("|")})(?!\\w)`, "g");
  return (text) => text.replaceAll(anyWord, (word) => replacements.get(word) ?? word);
}

const outputLines = (output: string): string[] => (output === "" ? [] : output.replace(/\n$/, "").split("\n"));

/**
 * Replaces values that differ from run to run by placeholders: ages, times, uids, versions, tokens, hashes, ids of keys,
 * counts of objects, sizes, milliseconds. The step of a request that is not always there is left out. Lines of a log are sorted: a program that does several things at once logs them in any
 * order.
 */
export function comparable(output: string): string {
  const lines = withoutValues(output).split("\n");
  const sorted = lines.filter(isOfLog).toSorted().values();
  return lines.map((line) => (isOfLog(line) ? sorted.next().value : line)).join("\n");
}

const isOfLog = (line: string): boolean => line.startsWith('{"level":');

/** Whether a request has this step depends on what the controllers write at the same time. */
const waitForFreshCache = /^ *wait for fresh cache \d+ µs *\n|"wait for fresh cache \d+ µs",/gm;

function withoutValues(output: string): string {
  return output
    .replace(waitForFreshCache, "")
    .replace(/"time":\d{13}/g, '"time":TIME')
    .replace(/\b\d{4}(-\d\d){5}-\d{3}(\.[0-9a-f]{8})?\b/g, "TIME")
    .replace(/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, "BOOTSTRAP-TOKEN")
    .replace(/^[a-z0-9]{6}(?= +\d{4}-)|(?<=system:bootstrap:|bootstrap token )[a-z0-9]{6}\b/gm, "ID")
    .replace(/eyJ[\w-]+\.[\w-]+\.[\w-]+/g, "TOKEN")
    .replace(/eyJ[\w-]+(\.\.\.|…)/g, "TOKEN")
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "UID")
    .replace(/\b(?:[0-9a-f]{16}|[0-9a-f]{32,64}|[0-9A-F]{40})\b/g, "HASH")
    .replace(/\b(signet-[a-z-]+-)[0-9a-f]{8}\b/g, "$1ID")
    .replace(/(?<![\w-])(?=-*\w)[\w-]{43}(?![\w-])/g, "KEY")
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, "TIME")
    .replace(/\b[A-Z][a-z][a-z] +\d+ \d\d:\d\d:\d\d \d{4} GMT/g, "TIME")
    .replace(/(resourceVersion"?: )"\d+"/g, '$1"VERSION"')
    .replace(/\b\d+(ms|s|m|h|d)(\d+[smh])?\b/g, "AGE")
    .replace(/127\.0\.0\.1:\d+/g, "ADDRESS")
    .replace(/\b\d+ (objects|files|checkpoints)\b/g, "COUNT $1")
    .replace(/\bnumber \d+/g, "number NUMBER")
    .replace(/\d+ µs|(?<="microseconds":)\d+/g, "MICROSECONDS")
    .replace(/\d+ MiB/g, "SIZE")
    .replace(/\brevision \d+/g, "revision NUMBER")
    .replace(/ready in \d+ ms/g, "ready in MS")
    .replace(/[ \t]+/g, " ")
    .replace(/ +$/gm, "")
    .trim();
}
