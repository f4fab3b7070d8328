import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before } from "node:test";
import { examineServer } from "../../../src/server/doctor/examine-server.ts";
import type { Finding } from "../../../src/server/doctor/finding.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import type { ServerConfig } from "../../../src/server/settings/server-config.ts";
import { InProcess } from "../in-process.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForDefaultAccount } from "../../wait-for-default-account.ts";

export const folder = mkdtempSync(join(tmpdir(), "signet-doctor-"));

export const tokenFile = join(folder, "tokens.csv");

export const dataDirectory = join(folder, "data");

export const staticToken = "very-static-token";
/** Runs while a file's tests run, with the token of an administrator in a file. */
export let api: InProcess;
let server: TestServer;
before(async () => {
  writeFileSync(tokenFile, `${staticToken},admin,admin-uid,"system:masters"\n`, { mode: 0o600 });
  server = await startTestServer({ storage: "lmdb", dataDirectory, tokenFile });
  await waitForDefaultAccount(server);
  api = new InProcess(server);
});
after(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const settings = { "data-dir": dataDirectory, "token-auth-file": tokenFile };

export const configOf = (more: Record<string, string> = {}): ServerConfig =>
  parseServerConfig({ commandLine: { ...settings, ...more }, file: {} });

export const examine = async (more: Record<string, string> = {}, now = Date.now()): Promise<readonly Finding[]> =>
  await examineServer(configOf(more), now);

/** The findings that are not good, a line for each. */
export const troubles = (findings: readonly Finding[]): string[] =>
  findings.filter(({ state }) => state !== "good").map(({ state, subject, found }) => `${state} ${subject}: ${found}`);

const known = /--token-auth-file/;

/** The troubles but for that of the file of tokens, which each examination warns of. */
export const newTroubles = async (more: Record<string, string> = {}, now?: number): Promise<string[]> =>
  troubles(await examine(more, now)).filter((line) => !known.test(line));
