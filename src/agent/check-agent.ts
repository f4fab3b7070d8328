import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { clusterTrustBundleResource } from "../features/certificates/resources.ts";
import { ApiError } from "../machinery/api/api-error.ts";
import { monotonicClock, systemClock } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import { errorCode, messageOf } from "../machinery/api/thrown-error.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import { namesOfServer } from "../machinery/client/names-of-server.ts";
import { postReview } from "../machinery/client/post-review.ts";
import { ignoredProxy } from "../machinery/client/proxy-agent.ts";
import { listenFault, tryListening } from "../machinery/command-line/listen-fault.ts";
import { checkReplaceable, openReplacement } from "../machinery/files/atomic-file.ts";
import type { FileOwnership } from "../machinery/files/atomic-file.ts";
import { checkParentFolders } from "../machinery/files/check-parent-folders.ts";
import { removeFile } from "../machinery/files/remove-file.ts";
import { fileFailureReason, linkFailureReason, UnusableFile } from "../machinery/files/unusable-file.ts";
import { ServerUnreachable } from "./agent-clients.ts";
import { readAgentStatus } from "./agent-control.ts";
import type { AgentSettings, ServiceCertificate, TrustBundleFile } from "./agent-settings.ts";
import { checkPlace, outputFolder, outputPath } from "./certificate-output.ts";
import type { CertificateOutput } from "./certificate-output.ts";
import { readUsable, CertificateStore } from "./certificate-store.ts";
import type { KeyPair } from "./key-pair.ts";
import { certificatesFolder } from "./managed-certificate.ts";
import { NodeIdentity } from "./node-identity.ts";
import { ServerClock } from "./server-clock.ts";
import { bundleSelector, mostBundles } from "./trust-bundle-follower.ts";

export interface CheckOptions {
  readonly print: (line: string) => void;
  readonly version: string;
}

/** What was found of one subject, and why. */
interface Finding {
  readonly state: "ok" | "FAULT" | "not checked";
  readonly why?: string;
}

const ok: Finding = { state: "ok" };
const faulty = (why: string): Finding => ({ state: "FAULT", why });
const notChecked = (why: string): Finding => ({ state: "not checked", why });

/** What the agent makes in a folder: files of this mode and owner, and links. */
interface Made {
  readonly ownership: FileOwnership;
  readonly hasLinks: boolean;
}

const ownFiles: Made = { ownership: { mode: 0o600, isOwnershipKept: true }, hasLinks: true };

/**
 * Checks what an agent with these settings needs, and changes nothing: what it makes to try a folder, it removes at once. Prints a line
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

type Findings = AsyncGenerator<Finding & { readonly subject: string }, void>;

async function* findings(settings: AgentSettings, version: string): Findings {
  const { dataDirectory, port, certificates, trustBundles } = settings;
  yield { subject: "the settings", ...ok };
  let pair: KeyPair | undefined;
  const ofPair = await foundBy(() => void (pair = savedPair(dataDirectory)));
  const ofFolder = await foundBy(() => checkFolder(dataDirectory, ownFiles));
  const ofDirectory = [ofFolder, ofPair].find(({ state }) => state === "FAULT") ?? ofFolder;
  yield { subject: `the data directory ${dataDirectory}`, ...ofDirectory };
  if (port !== 0) yield { subject: `the port ${port}`, ...(await portFinding(settings)) };
  for (const certificate of certificates) yield* ofOutputs(certificate);
  for (const { file } of trustBundles) {
    yield { subject: `the file ${file}`, ...(await foundBy(() => checkBundleFile(file))) };
  }
  const withoutProxy = ignoredProxy(process.env);
  if (withoutProxy !== undefined) yield { subject: "the proxy", ...notChecked(withoutProxy) };
  // Without its certificate, it is not known who the agent is to a server.
  const unknown = ofPair.state === "FAULT" ? notChecked("the data directory cannot be used") : undefined;
  let answering: AgentSettings | undefined;
  for (const server of settings.servers) {
    const ofServer = { ...settings, servers: [server] };
    const finding = unknown ?? (await foundBy(() => asAgent({ settings: ofServer, pair, version }, mayRequest)));
    if (finding.state === "ok") answering ??= ofServer;
    yield { subject: `the server ${server}`, ...finding };
  }
  for (const { source } of trustBundles) {
    yield { subject: subjectOf(source), ...(unknown ?? (await bundleFinding(source, { answering, pair, version }))) };
  }
}

async function* ofOutputs({ name, outputs }: ServiceCertificate): Findings {
  for (const output of outputs) {
    yield { subject: `${name}: ${outputPath(output)}`, ...(await foundBy(() => checkOutput(output))) };
  }
  for (const output of outputs) {
    if (!("password" in output)) continue;
    yield { subject: `${name}: the password`, ...(await foundBy(() => void output.password())) };
  }
}

/** What `check` returns, or that it failed. */
async function foundBy(check: () => Promise<Finding> | Finding | void): Promise<Finding> {
  try {
    return (await check()) ?? ok;
  } catch (error) {
    return faulty(error instanceof ServerUnreachable ? error.reason : messageOf(error));
  }
}

function checkOutput(output: CertificateOutput): Finding {
  checkPlace(output);
  if (output.type !== "folder") checkNotMounted(output.file);
  const ownership = { ...output.ownership, isOwnershipKept: true };
  return checkFolder(outputFolder(output), { ownership, hasLinks: output.type === "folder" });
}

function checkBundleFile(file: string): Finding {
  checkReplaceable(file);
  checkNotMounted(file);
  checkParentFolders(dirname(file), {});
  return checkFolder(dirname(file), { ownership: { mode: 0o644 }, hasLinks: false });
}

/** Throws UnusableFile unless this can be made in a folder, or the folder can be made. */
function checkFolder(folder: string, made: Made): Finding {
  let present = folder;
  while (!existsSync(present) && dirname(present) !== present) present = dirname(present);
  if (!statSync(present).isDirectory()) throw new UnusableFile(`${present} is a file, not a folder; name another`);
  try {
    if (present === folder) tryMaking(made, folder);
    else accessSync(present, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new UnusableFile(`${present}: ${fileFailureReason(error)}`, { cause: error });
  }
  return present === folder ? ok : { state: "ok", why: "the folder is not there yet; the agent makes it" };
}

/** Only a try tells what a file system can do, and whom this user may give files to. Throws the system's error, or one with the reason. */
function tryMaking({ ownership, hasLinks }: Made, folder: string): void {
  const tried = openReplacement(join(folder, ".signet-agent-check"), ownership);
  tried.discard();
  if (!hasLinks) return;
  try {
    symlinkSync(".", tried.temporary);
  } catch (error) {
    throw new UnusableFile(linkFailureReason(error), { cause: error });
  }
  removeFile(tried.temporary);
}

/** Throws UnusableFile for a file that is mounted by itself, as one of a container may be: no other can take its place. */
function checkNotMounted(file: string): void {
  if (!existsSync(file) || mountOf(file) === mountOf(realpathSync(dirname(file)))) return;
  throw new UnusableFile(`${file} is mounted by itself, so it cannot be replaced; mount its folder in its place`);
}

/** Linux' facts about the open files of a process (proc(5)). Other systems have none. */
const openFilesFolder = "/proc/self/fdinfo";
/** Opens a file without the right to read it, and of a link the link itself (open(2)). Node.js has no name for O_PATH. */
const pathOnly = 0o10000000 | constants.O_NOFOLLOW;

/** The mount that a path is in now. Undefined where the system does not tell. */
function mountOf(path: string): string | undefined {
  if (!existsSync(openFilesFolder)) return undefined;
  const descriptor = openSync(path, pathOnly);
  try {
    return /^mnt_id:.*$/m.exec(readFileSync(`${openFilesFolder}/${descriptor}`, "utf8"))?.[0];
  } finally {
    closeSync(descriptor);
  }
}

async function portFinding({ listenAddress, port, dataDirectory }: AgentSettings): Promise<Finding> {
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

const subjectOf = (source: TrustBundleFile["source"]): string =>
  "bundleName" in source
    ? `the trust bundle ${source.bundleName}`
    : `the trust bundles of the signer ${source.signerName}`;

/** Whether the server lets this credential request certificates. */
async function mayRequest(client: ApiClient, names: Names): Promise<Finding> {
  const resourceAttributes = {
    verb: "create",
    group: names.group("certificates"),
    resource: "certificatesigningrequests",
  };
  const review = await postReview<{ readonly status?: { readonly allowed?: boolean } }>(client, {
    group: names.group("authorization"),
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes },
  });
  if (review.status?.allowed === true) return ok;
  return faulty(
    "it accepts this credential, which may not request certificates; signet bootstrap-token create makes one that may",
  );
}

interface BundleLook {
  /** The settings of a server that answers. Undefined: there is none. */
  readonly answering: AgentSettings | undefined;
  readonly pair: KeyPair | undefined;
  readonly version: string;
}

function bundleFinding(
  source: TrustBundleFile["source"],
  { answering, pair, version }: BundleLook,
): Promise<Finding> | Finding {
  if (answering === undefined) return notChecked("no server answers");
  return foundBy(() =>
    asAgent({ settings: answering, pair, version }, async (client, names) => {
      try {
        const { items } = await client
          .resource(clusterTrustBundleResource(names))
          .list({ fieldSelector: bundleSelector(source) });
        if (items.length > mostBundles)
          return faulty(`there are more than ${mostBundles}, and the agent follows none of them`);
        return items.length > 0 ? ok : faulty("there is none; check the name: signet trust list shows all");
      } catch (error) {
        if (error instanceof ApiError && error.code === 403) return notChecked("this credential may not look it up");
        throw error;
      }
    }),
  );
}

/** The client certificate of an agent that has run there. Throws UnusableFile when this user may not use the agent's files. */
function savedPair(dataDirectory: string): KeyPair | undefined {
  const pki = certificatesFolder({ dataDirectory });
  if (!existsSync(pki)) return undefined;
  checkFolder(pki, ownFiles);
  const store = new CertificateStore(pki, "client");
  try {
    return readUsable(store, () => {});
  } catch (error) {
    throw new UnusableFile(`${store.file}: ${fileFailureReason(error)}`, { cause: error });
  }
}

interface Identity {
  readonly settings: AgentSettings;
  /** The client certificate that the agent has now. */
  readonly pair: KeyPair | undefined;
  readonly version: string;
}

/** Runs something with the identity that the agent has now. Rejects unless the server answers what every agent begins with. */
async function asAgent(
  { settings, pair, version }: Identity,
  run: (client: ApiClient, names: Names) => Promise<Finding>,
): Promise<Finding> {
  const identity = new NodeIdentity({
    settings,
    serverClock: new ServerClock({ local: systemClock, onSkew: () => {} }),
    monotonic: monotonicClock,
    userAgent: `signet-agent/${version}`,
  });
  if (pair !== undefined) identity.useCertificate(pair);
  try {
    const client = identity.requestClient();
    if (client === undefined) throw new Error(identity.missingCredential);
    const names = await namesOfServer(client);
    if (names === undefined) throw new Error("it offers no authentication API; name a Signet server");
    return await run(client, names);
  } finally {
    identity.connection.close();
  }
}
