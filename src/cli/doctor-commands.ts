import { Command } from "commander";
import { withExamples } from "../machinery/command-line/examples.ts";
import { checkOutputFile } from "../machinery/command-line/output/output-file.ts";
import { serveFlags } from "../server/settings/server-config.ts";
import type { ServerConfig } from "../server/settings/server-config.ts";
import { configAction, withServerConfig, withServerSettings } from "./server-settings.ts";
import { argumentAction } from "../machinery/command-line/argument-action.ts";

/** The programs of the commands that examine a server on its own machine. */
export interface DoctorPrograms {
  doctor(config: ServerConfig): Promise<void>;
  supportBundle(config: ServerConfig, file: string): Promise<void>;
}

/** `signet doctor`: examines a server's settings, files and store. */
export const doctor = (run: DoctorPrograms["doctor"]): Command =>
  withExamples(
    withServerSettings(new Command("doctor"), serveFlags)
      .description("look for what is wrong with a server, running or not: give it the server's settings")
      .action(configAction(run)),
    ["Look at a server with a settings file", "signet doctor --config /etc/signet/server.yaml"],
  );

/** `signet support-bundle`: collects what others need to know to help, without secrets. */
export const supportBundle = (run: DoctorPrograms["supportBundle"]): Command =>
  withExamples(
    withServerSettings(new Command("support-bundle"), serveFlags)
      .description(
        "write what others need to know to help with a server, without secrets: give it the server's settings",
      )
      .argument("<file>", "the file to write, as compressed JSON")
      .action(
        argumentAction(async (file, { self }) => {
          checkOutputFile({ namedBy: "FILE", file });
          await withServerConfig(self, async (config) => run(config, file));
        }),
      ),
    [
      "For a server with a settings file",
      "signet support-bundle signet-support.json.gz --config /etc/signet/server.yaml",
    ],
  );
