import { signetProgram } from "../../bench/processes/signet-program.ts";
import { ProgramProcess } from "./program-process.ts";

/** A `signet` command that runs in a separate process. */
export class SignetProcess extends ProgramProcess {
  constructor(...args: readonly string[]) {
    super([process.execPath, signetProgram, ...args]);
  }

  /** With more variables in its environment. */
  static in(environment: NodeJS.ProcessEnv, ...args: readonly string[]): ProgramProcess {
    return new ProgramProcess([process.execPath, signetProgram, ...args], { env: { ...process.env, ...environment } });
  }

  /** Runs a command to its end and returns what it prints. Rejects when it fails. */
  static async run(...args: readonly string[]): Promise<string> {
    const command = new SignetProcess(...args);
    const code = await command.ended();
    if (code === 0) return command.output;
    throw new Error(`signet ${args[0]} ended with ${code}:\n${command.output}`);
  }
}
