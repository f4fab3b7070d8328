import { Argument, Command } from "commander";
import { withExamples } from "../machinery/command-line/examples.ts";
import type { Shell } from "./completion/completion-script.ts";
import { argumentAction } from "../machinery/command-line/argument-action.ts";

const shells: readonly Shell[] = ["bash", "zsh", "fish"];

/** `signet completion`: prints a script with which a shell completes commands, flags and their values. */
export const completion = (): Command =>
  withExamples(
    new Command("completion")
      .description("print a script that makes a shell complete signet's commands and flags")
      .addArgument(new Argument("<shell>", "bash, zsh or fish").choices(shells))
      .action(
        argumentAction<Shell>(async (shell, { self }) => {
          const { completionScript } = await import("./completion/completion-script.ts");
          process.stdout.write(completionScript(shell, self.parent ?? self));
        }),
      ),
    ["Complete in this shell from now on", "source <(signet completion bash)"],
  );
