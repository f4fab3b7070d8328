import { Command } from "commander";
import { withExamples } from "../machinery/command-line/examples.ts";
import { UsageError } from "../machinery/command-line/settings/flag.ts";
import { withOutputFlag } from "../machinery/command-line/output/output.ts";
import type { OutputFlags } from "../machinery/command-line/output/output.ts";
import { serveFlags } from "../server/settings/server-config.ts";
import type { ServerConfig } from "../server/settings/server-config.ts";
import { argumentConfigAction, configAction, withServerSettings } from "./server-settings.ts";

/** The settings that say where a server's data is, and which CAs are in the operator's files. */
const authorityFlags = Object.fromEntries(
  Object.entries(serveFlags).filter(([name]) =>
    /^(?:data-dir|profile|etcd-.*|encryption-.*|cluster-signing-.*file|signer-config)$/.test(name),
  ),
);

interface Named {
  readonly name: string;
}

interface ForceFlag {
  readonly force: boolean;
}

/** The programs of the commands that replace the CAs of a server's data directory. */
export interface AuthorityPrograms {
  list(config: ServerConfig, flags: OutputFlags): Promise<void>;
  prepare(config: ServerConfig, options: Named): Promise<void>;
  switchTo(config: ServerConfig, options: Named & { readonly isForced: boolean }): Promise<void>;
  retire(config: ServerConfig, options: Named & { readonly isForced: boolean }): Promise<void>;
  abort(config: ServerConfig, options: Named): Promise<void>;
}

/** `signet ca list|prepare|switch|retire|abort`: the CAs of the data directory. */
export const ca = (programs: AuthorityPrograms): Command =>
  new Command("ca")
    .description("show and replace the CAs of the data directory, while the server runs or not")
    .addCommand(list(programs))
    .addCommand(prepare(programs))
    .addCommand(rotate(), { hidden: true })
    .addCommand(switchTo(programs))
    .addCommand(retire(programs))
    .addCommand(abort(programs));

const list = ({ list: run }: AuthorityPrograms): Command =>
  withExamples(
    withOutputFlag(withServerSettings(new Command("list"), authorityFlags))
      .description("list the CAs: which one signs, which ones are trusted, and how many certificates they have")
      .action(configAction(run)),
    ["The CAs of a server, on its machine", "signet ca list --data-dir /var/lib/signet"],
    ["Also those in the files that its settings name", "signet ca list --config /etc/signet/server.yaml"],
  );

/** One step of the replacement of a CA. */
const step = (name: string, description: string): Command =>
  withServerSettings(new Command(name), authorityFlags)
    .description(description)
    .argument(
      "<name>",
      "ca for the server's own, or as signet ca list names it: apiserver-client-ca, example.com/services",
    );

const prepare = ({ prepare: run }: AuthorityPrograms): Command =>
  withExamples(
    step("prepare", "make a new CA, which is trusted beside the one that signs").action(
      argumentConfigAction((config, { argument: name }) => run(config, { name })),
    ),
    ["Begin to replace the CA of the server's own certificate", "signet ca prepare ca --data-dir /var/lib/signet"],
  );

/** For users who know `signet keys rotate`. Without it, the error would suggest the most similar command, `retire`. */
const rotate = (): Command =>
  new Command("rotate")
    .allowUnknownOption()
    .allowExcessArguments()
    .action(() => {
      throw new UsageError(
        "a CA is replaced in steps, so that clients trust the new one first: begin with signet ca prepare",
      );
    });

const switchTo = ({ switchTo: run }: AuthorityPrograms): Command =>
  withExamples(
    step("switch", "let the new CA sign; the old one stays trusted")
      .option("--force", "also within ten minutes after the new CA was made", false)
      .action(
        argumentConfigAction<ForceFlag>((config, { argument: name, flags }) =>
          run(config, { name, isForced: flags.force }),
        ),
      ),
    ["When all clients trust the new CA", "signet ca switch ca --data-dir /var/lib/signet"],
  );

const retire = ({ retire: run }: AuthorityPrograms): Command =>
  withExamples(
    step("retire", "end the trust in the old CA, when none of its certificates is valid")
      .option("--force", "also with valid certificates: they are refused from then on", false)
      .action(
        argumentConfigAction<ForceFlag>((config, { argument: name, flags }) =>
          run(config, { name, isForced: flags.force }),
        ),
      ),
    ["When signet ca list shows no certificates of the old CA", "signet ca retire nodeagent-client-ca"],
    ["The old CA's key has leaked", "signet ca retire nodeagent-client-ca --force"],
  );

const abort = ({ abort: run }: AuthorityPrograms): Command =>
  withExamples(
    step("abort", "undo a rotation: remove the new CA, or let the old one sign again after the switch").action(
      argumentConfigAction((config, { argument: name }) => run(config, { name })),
    ),
    ["Clients do not trust the new CA", "signet ca abort ca --data-dir /var/lib/signet"],
  );
