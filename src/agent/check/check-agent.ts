import { errorCode, messageOf } from "../../machinery/api/thrown-error.ts";
import { ignoredProxy } from "../../machinery/client/https/proxy-agent.ts";
import { listenFault, tryListening } from "../../machinery/command-line/listen-fault.ts";
import { fileFailureReason, namesPath } from "../../machinery/files/unusable-file.ts";
import { ServerUnreachable } from "../connection/explained-transport.ts";
import { readAgentStatus } from "../agent-control.ts";
import type { AgentSettings, ServiceCertificate, TrustBundleFile } from "../agent-settings.ts";
import { failureReason } from "../failure-reason.ts";
import { outputPath } from "../files/certificate-output.ts";
import {
  checkAgentFolder,
  checkBundleFile,
  checkOutput,
  isOfAnotherUser,
  savedClientCertificate,
} from "./check-files.ts";
import type { SavedClientCertificate } from "./check-files.ts";
import { faulty, notChecked, ok } from "./check-finding.ts";
import type { CheckFinding } from "./check-finding.ts";
import { checkBundles, checkServer } from "./check-server.ts";
import type { CheckIdentity } from "./check-server.ts";

interface CheckOptions {
  readonly print: (line: string) => void;
  readonly version: string;
}

/**
 * Checks what an agent with these settings needs. Changes nothing: a file that it makes to try a folder is removed at once. Prints a line
 * for each subject. Returns whether there is no fault.
 */
export async function checkAgent(settings: AgentSettings, { print, version }: CheckOptions): Promise<boolean> {
  let isInOrder = true;
  for await (const { subject, state, why } of findings(settings, version)) {
    print(`${state}  ${subject}${why === undefined ? "" : `: ${why}`}`);
    if (state === "FAULT") isInOrder = false;
  }
  return isInOrder;
}

type SubjectFinding = CheckFinding & { readonly subject: string };
type Findings = AsyncGenerator<SubjectFinding, void>;

async function* findings(settings: AgentSettings, version: string): Findings {
  const { dataDirectory, port, certificates, trustBundles } = settings;
  yield { subject: "the settings", ...ok };
  let saved: SavedClientCertificate = { pair: undefined, pendingKey: undefined };
  const ofPair = await findingOf(() => void (saved = savedClientCertificate(dataDirectory)));
  const ofFolder = await findingOf(() => checkAgentFolder(dataDirectory));
  const ofDirectory = [ofFolder, ofPair].find(({ state }) => state === "FAULT") ?? ofFolder;
  yield { subject: `the data directory ${dataDirectory}`, ...ofDirectory };
  if (port !== 0) yield { subject: `the port ${port}`, ...(await portFinding(settings)) };
  for (const certificate of certificates) yield* ofOutputs(certificate);
  for (const { file, store } of trustBundles) {
    yield { subject: `the file ${file}`, ...(await findingOf(() => checkBundleFile(file))) };
    if (store?.passwordFile === undefined) continue;
    yield { subject: `the password of ${file}`, ...(await findingOf(() => void store.password())) };
  }
  const withoutProxy = ignoredProxy(process.env);
  if (withoutProxy !== undefined) yield { subject: "the proxy", ...notChecked(withoutProxy) };
  if (ofPair.state === "FAULT") yield* notCheckedFindings(settings, notChecked("the data directory cannot be used"));
  else if (isOfAnotherUser(dataDirectory)) yield* notCheckedFindings(settings, notChecked(keysOfAnotherUser));
  else yield* ofServers(settings, { ...saved, version });
}

async function* ofOutputs({ name, outputs }: ServiceCertificate): Findings {
  for (const output of outputs) {
    yield { subject: `${name}: ${outputPath(output)}`, ...(await findingOf(() => checkOutput(output))) };
  }
  for (const output of outputs) {
    if (!("password" in output)) continue;
    yield { subject: `${name}: the password`, ...(await findingOf(() => void output.password())) };
  }
}

const keysOfAnotherUser = "the agent's keys belong to another user; run the same command as that user";

/** The findings when no server can be asked: without its certificate, the agent has no identity there. */
function* notCheckedFindings(
  { servers, trustBundles }: AgentSettings,
  finding: CheckFinding,
): Generator<SubjectFinding, void> {
  for (const server of servers) yield { subject: serverSubject(server), ...finding };
  for (const subject of bundleSources(trustBundles).keys()) yield { subject, ...finding };
}

async function* ofServers(settings: AgentSettings, agent: Omit<CheckIdentity, "settings">): Findings {
  let answering: CheckIdentity | undefined;
  for (const server of settings.servers) {
    const identity = { settings: { ...settings, servers: [server] }, ...agent };
    const finding = await findingOf(() => checkServer(identity));
    if (finding.state === "ok") answering ??= identity;
    yield { subject: serverSubject(server), ...finding };
  }
  for (const [subject, source] of bundleSources(settings.trustBundles)) {
    yield { subject, ...(await findingOf(() => checkBundles(source, answering))) };
  }
}

/** The finding that `check` returns, or a fault when it throws. */
async function findingOf(check: () => Promise<CheckFinding> | CheckFinding | void): Promise<CheckFinding> {
  try {
    return (await check()) ?? ok;
  } catch (error) {
    if (error instanceof ServerUnreachable) return faulty(error.reason);
    return faulty(namesPath(error) ? fileFailureReason(error) : failureReason(error));
  }
}

async function portFinding({ listenAddress, port, dataDirectory }: AgentSettings): Promise<CheckFinding> {
  try {
    await tryListening({ host: listenAddress, port });
    return ok;
  } catch (error) {
    if (errorCode(error) === "EADDRINUSE" && (await runsAgent(dataDirectory))) {
      return notChecked("an agent with this data directory runs");
    }
    return faulty(listenFault(error) ?? messageOf(error));
  }
}

const runsAgent = (dataDirectory: string): Promise<boolean> =>
  readAgentStatus(dataDirectory).then(
    () => true,
    () => false,
  );

const serverSubject = (server: string): string => `the server ${server}`;

/** The sources by their subjects, because several files may have the same source. */
const bundleSources = (files: readonly TrustBundleFile[]): ReadonlyMap<string, TrustBundleFile["source"]> =>
  new Map(files.map(({ source }) => [bundleSubject(source), source]));

const bundleSubject = (source: TrustBundleFile["source"]): string =>
  "bundleName" in source
    ? `the trust bundle ${source.bundleName}`
    : `the trust bundles of the signer ${source.signerName}`;
