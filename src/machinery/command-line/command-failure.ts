import { exitCodes } from "./exit-codes.ts";
import type { ExitName } from "./exit-codes.ts";

/** A command cannot do what was asked. The message is one line that names the reason and what to do next. */
export class CommandFailure extends Error {
  readonly exitCode: number;

  constructor(message: string, { exit, cause }: { readonly exit: ExitName; readonly cause?: unknown }) {
    super(message, { cause });
    this.name = "CommandFailure";
    this.exitCode = exitCodes[exit].code;
  }
}
