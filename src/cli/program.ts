import { Command } from "commander";
import type { AgentProgram } from "../agent/agent-program.ts";
import type { IssueProgram } from "../agent/issue/issue-program.ts";
import { auth, clusterRole, clusterRoleBinding, role, roleBinding, whoami } from "../features/access/commands.ts";
import { token } from "../features/accounts/commands.ts";
import { certificates, csr, trust } from "../features/certificates/commands.ts";
import { bootstrapToken, node } from "../features/nodes/commands.ts";
import { exitCodes } from "../machinery/command-line/command-failure.ts";
import type { RemoteControllerConfig } from "../server/settings/controller-settings.ts";
import type { ServerConfig } from "../server/settings/server-config.ts";
import { signetVersion } from "../server/signet-version.ts";
import { agent } from "./agent/agent-command.ts";
import { audit } from "./audit-command.ts";
import { ca } from "./ca-commands.ts";
import type { AuthorityPrograms } from "./ca-commands.ts";
import { completion } from "./completion-command.ts";
import { controllers } from "./controllers-command.ts";
import type { RemoteControllerOptions } from "./controllers-command.ts";
import { encryption } from "./encryption-commands.ts";
import type { EncryptionPrograms } from "./encryption-commands.ts";
import { issue } from "./issue-command.ts";
import { keys } from "./keys-commands.ts";
import type { TokenKeyPrograms } from "./keys-commands.ts";
import { kubeconfig } from "./kubeconfig-command.ts";
import { serve } from "./serve-command.ts";
import type { ReadSettings } from "./server-settings.ts";
import { doctor, supportBundle } from "./doctor-commands.ts";
import type { DoctorPrograms } from "./doctor-commands.ts";
import { backup, restore, storage } from "./storage-commands.ts";
import type { StoragePrograms } from "./storage-commands.ts";

/** The programs of the commands that do more than call the API. */
export interface Programs extends StoragePrograms, DoctorPrograms, EncryptionPrograms {
  readonly tokenKeys: TokenKeyPrograms;
  readonly authorities: AuthorityPrograms;
  serve(config: ServerConfig, settings: ReadSettings): Promise<void>;
  agent(program: AgentProgram): Promise<void>;
  issue(program: IssueProgram): Promise<void>;
  controllers(config: RemoteControllerConfig, options: RemoteControllerOptions): Promise<void>;
}

/** Every command with its flags, in the groups of the help. */
export const signetCommand = (programs: Programs): Command =>
  new Command("signet")
    .description("A standalone identity and certificate control plane that speaks Kubernetes API conventions")
    .version(signetVersion, "-V, --version", "print the version")
    .commandsGroup("Servers:")
    .addCommand(serve(programs.serve))
    .addCommand(agent("signet agent", programs.agent))
    .addCommand(controllers(programs.controllers))
    .commandsGroup("Identity:")
    .addCommand(auth())
    .addCommand(whoami(), { hidden: true }) // the name of `signet auth whoami` in earlier versions
    .addCommand(token())
    .addCommand(kubeconfig())
    .addCommand(bootstrapToken())
    .addCommand(node())
    .commandsGroup("Certificates:")
    .addCommand(csr())
    .addCommand(certificates().addCommand(issue(programs.issue)))
    .addCommand(trust())
    .commandsGroup("Permissions:")
    .addCommand(role())
    .addCommand(roleBinding())
    .addCommand(clusterRole())
    .addCommand(clusterRoleBinding())
    .commandsGroup("Keys:")
    .addCommand(keys(programs.tokenKeys))
    .addCommand(ca(programs.authorities))
    .commandsGroup("Data:")
    .addCommand(backup(programs.backUp))
    .addCommand(restore(programs.restore))
    .addCommand(storage(programs.migrateStorage))
    .addCommand(audit())
    .addCommand(encryption(programs.encryption))
    .addCommand(doctor(programs.doctor))
    .addCommand(supportBundle(programs.supportBundle))
    .commandsGroup("Other commands:")
    .addCommand(completion())
    .helpCommand("help [command]", "show the help of a command")
    .addHelpText("after", exitCodesHelp);

const exitCodesHelp = `
Exit codes:
${Object.values(exitCodes)
  .map(({ code, meaning }) => `  ${String(code).padEnd(5)}${meaning}`)
  .join("\n")}

signet COMMAND --help has examples. Commands that talk to a server take kubectl's kubeconfig.`;
