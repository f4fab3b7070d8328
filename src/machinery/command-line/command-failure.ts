/**
 * How a command ends: one table for every command. `signet --help` and docs/reference/commands.md show it. A script may
 * rely on these numbers.
 */
export const exitCodes = {
  done: {
    code: 0,
    meaning: "Done. The answer to a question is yes. What runs until a signal stops it was stopped in order.",
  },
  refused: { code: 1, meaning: "The server refused, the work failed, or the answer to a question is no." },
  usage: { code: 2, meaning: "The command line, a setting, a kubeconfig or an input file is wrong. Nothing was done." },
  unreachable: { code: 3, meaning: "The server cannot be reached, cannot be trusted, or did not answer in time." },
  unauthenticated: { code: 4, meaning: "The server does not accept the credentials, or they have expired." },
  unwritable: { code: 5, meaning: "The output, or a file for it, cannot be written." },
  pending: { code: 6, meaning: "What the command waits for did not happen in time. It may still happen." },
  bug: { code: 70, meaning: "A fault in Signet. Please report it with what is printed." },
  hungUp: { code: 129, meaning: "The terminal was closed (SIGHUP) before the command was done." },
  interrupted: { code: 130, meaning: "Ctrl-C (SIGINT) ended the command before it was done." },
  readerGone: {
    code: 141,
    meaning: "The reader of the output went away, as in `signet ... | head`. Nothing is printed.",
  },
  terminated: { code: 143, meaning: "SIGTERM ended the command before it was done." },
} as const;

export type ExitName = keyof typeof exitCodes;

/** A command cannot do what was asked. The message is one line that names the reason and what to do next. */
export class CommandFailure extends Error {
  override readonly name: string = "CommandFailure";
  readonly exitCode: number;

  constructor(message: string, { exit, cause }: { readonly exit: ExitName; readonly cause?: unknown }) {
    super(message, { cause });
    this.exitCode = exitCodes[exit].code;
  }
}

/** The failure with the exit code 1. */
export const commandRefused = (message: string, options: ErrorOptions = {}): CommandFailure =>
  new CommandFailure(message, { exit: "refused", ...options });

/** Several parts of a command's work failed. Each has a line of its own, and the last decides the exit code. */
export class SeveralFailures extends Error {
  override readonly name: string = "SeveralFailures";
  readonly failures: readonly unknown[];

  constructor(failures: readonly unknown[]) {
    super(`${failures.length} failures`);
    this.failures = failures;
  }
}
