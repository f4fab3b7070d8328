import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach } from "node:test";
import { openIssuers } from "../../../../src/features/federation/oidc/open-issuers.ts";
import type { OpenedIssuers } from "../../../../src/features/federation/oidc/open-issuers.ts";
import { FollowedFiles } from "../../../../src/machinery/files/followed/followed-files.ts";
import type { TokenOutcome } from "../../../../src/machinery/authentication/token-authentication.ts";
import { TestClock } from "../../accounts/tokens/token-scene.ts";
import { issuersOptions, keptLog, TestIssuer } from "../issuer-scene.ts";
import { temporaryFolder } from "../../../temporary-folder.ts";

/** The audiences of this API. */
export const api = ["https://api.test"];

const file = join(temporaryFolder(), "authentication.yaml");

/** An issuer in the configuration. */
export const entry = (url: string, more: object = {}): object => ({
  issuer: { url, audiences: ["signet"] },
  claimMappings: { username: { claim: "sub", prefix: "corp:" }, groups: { claim: "groups", prefix: "corp:" } },
  ...more,
});

let versions = 0;

/** The size changes with every version, so that two in one tick of the file system's clock differ. */
export function writeConfiguration(fields: object): void {
  const configuration = { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthenticationConfiguration", ...fields };
  writeFileSync(file, `${JSON.stringify(configuration)}${" ".repeat(++versions)}`);
}

/** Each test gets new ones. */
export let clock: TestClock;
export let log: ReturnType<typeof keptLog>;
export let issuer: TestIssuer;
export let followed: FollowedFiles;
beforeEach(() => {
  clock = new TestClock();
  log = keptLog();
  followed = new FollowedFiles({ log });
  issuer = new TestIssuer("https://login.example.com");
});

/** Opens the issuers of a configuration. */
export function open(fields: object = { jwt: [entry(issuer.url)] }, isAnonymousWanted = true): OpenedIssuers {
  writeConfiguration(fields);
  const pause = async (milliseconds: number): Promise<void> => clock.passSeconds(milliseconds / 1000);
  const options = { clock, log, followed, apiAudiences: api, isAnonymousWanted, pause, fetch: issuer.fetch };
  return openIssuers({ type: "file", file }, issuersOptions(options));
}

/** Lets the fetches in the background end. */
export const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Opens them, and lets the first fetches end. */
export async function ready(fields?: object): Promise<OpenedIssuers> {
  const opened = open(fields);
  await settled();
  return opened;
}

export const tokenOf = (claims: object = {}): Promise<string> => issuer.sign({ ...claims }, clock.now());

export const messageOf = (answer: TokenOutcome): string =>
  answer.outcome === "refused" ? answer.message : answer.outcome;

/** Closes what a test opened. */
export const disposable = (issuers: OpenedIssuers): OpenedIssuers & Disposable => ({
  ...issuers,
  [Symbol.dispose]: () => issuers.close(),
});
