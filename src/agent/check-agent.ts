import { accessSync, constants, existsSync } from "node:fs";
import { dirname } from "node:path";
import { systemClock } from "../machinery/api/clock.ts";
import { namesOfServer } from "../machinery/client/names-of-server.ts";
import { fileFailureReason } from "../machinery/files/unusable-file.ts";
import { messageOf } from "../machinery/api/thrown-error.ts";
import { ServerUnreachable } from "./agent-clients.ts";
import type { AgentSettings } from "./agent-settings.ts";
import { outputPath } from "./certificate-output.ts";
import { readUsable, CertificateStore } from "./certificate-store.ts";
import { NodeIdentity } from "./node-identity.ts";
import { ServerClock } from "./server-clock.ts";
import { join } from "node:path";

export interface CheckOptions {
  readonly print: (line: string) => void;
  readonly version: string;
}

/** Checks what an agent with these settings needs, and changes nothing. Returns whether everything is in order. */
export async function checkAgent(settings: AgentSettings, { print, version }: CheckOptions): Promise<boolean> {
  let isInOrder = true;
  const report = (subject: string, fault: string | undefined): void => {
    print(`${fault === undefined ? "ok" : "FAULT"}  ${subject}${fault === undefined ? "" : `: ${fault}`}`);
    if (fault !== undefined) isInOrder = false;
  };
  report("the settings", undefined);
  report(`the data directory ${settings.dataDirectory}`, writeFault(settings.dataDirectory));
  for (const { name, outputs } of settings.certificates) {
    for (const output of outputs) report(`${name}: ${outputPath(output)}`, writeFault(dirname(outputPath(output))));
    for (const output of outputs) {
      if ("password" in output) report(`${name}: the password`, await faultOf(async () => void output.password()));
    }
  }
  for (const { file } of settings.trustBundles) report(`the trust bundle ${file}`, writeFault(dirname(file)));
  for (const server of settings.servers) {
    report(`the server ${server}`, await serverFault({ ...settings, servers: [server] }, version));
  }
  return isInOrder;
}

/** Whether the server answers the request that every agent begins with. */
async function serverFault(settings: AgentSettings, version: string): Promise<string | undefined> {
  const pki = join(settings.dataDirectory, "pki");
  const pair = existsSync(pki) ? readUsable(new CertificateStore(pki, "client"), () => {}) : undefined;
  const identity = new NodeIdentity({
    settings,
    clientCertificate: () => pair,
    serverClock: new ServerClock({ local: systemClock, onSkew: () => {} }),
    localClock: systemClock,
    monotonic: performance,
    userAgent: `signet-agent/${version}`,
  });
  try {
    return await faultOf(async () => {
      const client = identity.requestClient();
      if (client === undefined) throw new Error(identity.missingCredential);
      if ((await namesOfServer(client)) === undefined) throw new Error("it offers no authentication API");
    });
  } finally {
    identity.connection.close();
  }
}

async function faultOf(action: () => Promise<void>): Promise<string | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    return error instanceof ServerUnreachable ? error.reason : messageOf(error);
  }
}

/** Why nothing can be written in a folder, or in the folder above it that exists. */
function writeFault(folder: string): string | undefined {
  let present = folder;
  while (!existsSync(present) && dirname(present) !== present) present = dirname(present);
  try {
    accessSync(present, constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return `${present}: ${fileFailureReason(error)}`;
  }
}
