import { join, basename, dirname, relative, resolve } from "node:path";
import { lstatSync, readlinkSync, symlinkSync } from "node:fs";
import type { Clock } from "../machinery/api/clock.ts";
import type { Names } from "../machinery/api/names.ts";
import type { ApiClient } from "../machinery/client/api-client.ts";
import { CommandFailure } from "../machinery/command-line/command-failure.ts";
import { ownFolder } from "../machinery/files/owned-folder.ts";
import { UnusableFile } from "../machinery/files/unusable-file.ts";
import type { Sleep } from "../machinery/loops/repetition.ts";
import type { Certificate } from "../pki/certificate.ts";
import type { AgentLog } from "./agent-log.ts";
import type { Hook } from "./agent-settings.ts";
import { approvalAdvice, CertificateManager } from "./certificate-manager.ts";
import { CertificateStore } from "./certificate-store.ts";
import { HookMemory, HookRunner } from "./hook-runner.ts";
import { PublishedCertificate } from "./published-certificate.ts";
import { RequestRefused } from "./request-certificate.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";
import { UsageError } from "../machinery/command-line/flag.ts";
import { flushFolder } from "../machinery/files/atomic-file.ts";
import type { CertificateOutput, FolderPart } from "./certificate-output.ts";

/** A certificate to obtain, and where it goes. */
export interface IssueOrder {
  readonly name: string;
  readonly wanted: WantedCertificate;
  /** Undefined: as long as the signer gives. */
  readonly lifetimeSeconds: number | undefined;
  readonly files: IssuedFiles;
  /** Whether to keep renewing it. */
  readonly isRenewed: boolean;
  readonly hook: Hook | undefined;
}

interface ObtainOptions {
  readonly names: Names;
  /** The client to request with now. */
  readonly client: () => ApiClient;
  /** How long to wait for a certificate that is not to be renewed; 0: without end. */
  readonly timeoutMilliseconds: number;
  readonly clock: Clock;
  /** A clock that is never set. */
  readonly monotonic: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  readonly sleep: Sleep;
  readonly log: AgentLog;
  readonly onFailed: () => void;
}

const lookMilliseconds = 100;
/** The end of a process must not wait longer for a hook. */
const hookGraceMilliseconds = 4000;

/**
 * Obtains a certificate unless a current one is there, writes its files, and runs the hook after they have changed. With
 * `isRenewed` it keeps renewing until `signal` aborts; a refusal of the first certificate ends it. Returns the certificate
 * in use. Throws CommandFailure, UsageError, UnusableFile, or why the server did not answer. The key and the request are kept
 * in the folder `.signet-NAME` beside the files, so that another run continues.
 */
export async function obtainCertificate(
  order: IssueOrder,
  options: ObtainOptions,
  signal: AbortSignal,
): Promise<{ readonly certificate: Certificate | undefined }> {
  const folder = stateFolderOf(order.name, order.files);
  const { output, link } = issuedOutput(order.files, folder);
  const owned = ownState(order.name, folder);
  const { log, monotonic, random, sleep } = options;
  const hooks = new HookRunner({ memory: new HookMemory(folder, log), log, monotonic, random, sleep });
  const store = new CertificateStore(join(folder, "pki"), order.name);
  const first = Promise.withResolvers<void>();
  const stop = new AbortController();
  const stopping = AbortSignal.any([signal, stop.signal]);
  stopping.addEventListener("abort", () => first.resolve());

  const manager = new CertificateManager({
    ...options,
    name: order.name,
    store,
    lifetimeSeconds: order.lifetimeSeconds,
    renewalShare: undefined,
    requestPrefix: `${order.name}-csr-`,
    isRefused: () => false,
    requestClient: options.client,
    onInstalled() {
      publish();
      first.resolve();
    },
    onFailed(error) {
      options.onFailed();
      const isFinal = !order.isRenewed || (manager.current === undefined && error instanceof RequestRefused);
      if (isFinal) first.reject(asFailure(error));
    },
  });
  const published = new PublishedCertificate({
    ...order,
    current: () => manager.current,
    file: store.file,
    outputs: [output],
    changedFile: order.files.out,
    hooks,
    sleep,
    log,
  });
  const publish = (): void => {
    link();
    published.publish();
  };

  manager.specify({ names: options.names, wanted: order.wanted });
  const isCurrent = manager.status.state === "current" && store.pendingKey() === undefined;
  const work = manager.run(stopping);
  try {
    if (isCurrent) {
      publish();
      first.resolve();
    }
    if (order.isRenewed) {
      await first.promise;
      await published.run(stopping);
    } else {
      await untilIssued();
      await untilHookEnds();
    }
    return { certificate: manager.current?.certificate };
  } finally {
    stop.abort();
    await Promise.all([work, hooks.stop({ graceMilliseconds: hookGraceMilliseconds })]);
    owned.release();
  }

  async function untilIssued(): Promise<void> {
    const { timeoutMilliseconds } = options;
    const late = stillPending(order, { timeoutMilliseconds, request: () => manager.status.pendingRequest });
    const waiting = new AbortController();
    const timer = AbortSignal.any([stopping, waiting.signal]);
    if (timeoutMilliseconds > 0) {
      void sleep(timeoutMilliseconds, timer).then(() => {
        if (!timer.aborted) first.reject(late());
      });
    }
    await first.promise.finally(() => waiting.abort());
    signal.throwIfAborted();
    const { failure } = manager.status;
    if (failure !== undefined) throw refused(failure);
    if (published.fault !== undefined) throw new CommandFailure(published.fault, { exit: "unwritable" });
  }

  async function untilHookEnds(): Promise<void> {
    while (!hooks.isIdle && hooks.faults().length === 0 && !signal.aborted) await sleep(lookMilliseconds, signal);
    signal.throwIfAborted();
    const [fault] = hooks.faults();
    if (fault !== undefined) {
      throw refused(`the files are written, but ${fault}; the same command runs it again`);
    }
  }
}

function ownState(name: string, folder: string): ReturnType<typeof ownFolder> {
  try {
    return ownFolder(folder);
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    throw new UnusableFile(`the key and state of the certificate ${name}: ${error.message}, or choose another NAME`, {
      cause: error,
    });
  }
}

const refused = (message: string): CommandFailure => new CommandFailure(message, { exit: "refused" });

const asFailure = (error: unknown): unknown =>
  error instanceof RequestRefused ? refused(`${error.message}; change what is requested, or ask who decides`) : error;

const stillPending =
  (
    { wanted }: IssueOrder,
    {
      timeoutMilliseconds,
      request,
    }: { readonly timeoutMilliseconds: number; readonly request: () => string | undefined },
  ) =>
  (): CommandFailure =>
    new CommandFailure(
      `no certificate after ${timeoutMilliseconds / 1000}s: ${approvalAdvice(wanted.signerName, request() ?? "NAME")}; ` +
        "then run the same command again, or wait longer with --timeout",
      { exit: "pending" },
    );

/** The files of `signet certificates issue`. Without `keyOut`, everything is in `out`. */
interface IssuedFiles {
  readonly out: string;
  readonly keyOut: string | undefined;
  readonly chainOut: string | undefined;
}

/** Where the files of a certificate are written, and the links that lead there. */
interface IssuedOutput {
  readonly output: CertificateOutput;
  /** Makes the links that are missing. Call it before the output is written. */
  link(): void;
}

const ownership = { mode: 0o600 };

/**
 * One file is replaced by a rename. Several files are links into a folder of `stateFolder`, where one rename changes all of
 * them. Throws UsageError when something else is in the place of a link: two files cannot be replaced at the same moment.
 */
function issuedOutput({ out, keyOut, chainOut }: IssuedFiles, stateFolder: string): IssuedOutput {
  if (keyOut === undefined) return { output: { type: "pem", file: resolve(out), ownership }, link: () => {} };
  const folder = join(stateFolder, "files");
  const parts: readonly (readonly [flag: string, file: string, part: FolderPart])[] = [
    ["out", out, chainOut === undefined ? "fullChain" : "certificate"],
    ["key-out", keyOut, "key"],
    ...(chainOut === undefined ? [] : [["chain-out", chainOut, "chain"] as const]),
  ];
  const links = parts.map(([flag, file, part]) => ({
    flag,
    file: resolve(file),
    target: relative(dirname(resolve(file)), join(folder, `${part}.pem`)),
  }));
  if (new Set(links.map(({ file }) => file)).size < links.length) {
    throw new UsageError("--out, --key-out, --chain-out: name a file of its own for each");
  }
  for (const { flag, file, target } of links) {
    if (!isMissing(file) && !isLinkTo(file, target)) {
      throw new UsageError(
        `--${flag}: ${file} is there already, and several files cannot be replaced at the same moment: ` +
          `move it away, or leave out --key-out to write one file`,
      );
    }
  }
  return {
    output: {
      type: "folder",
      folder,
      names: Object.fromEntries(parts.map(([, , part]) => [part, `${part}.pem`])),
      ownership,
    },
    link() {
      for (const { file, target } of links.filter((link) => isMissing(link.file))) {
        symlinkSync(target, file);
        flushFolder(dirname(file));
      }
    },
  };
}

/** Keeps the keys, and what is needed to continue after an interruption. Beside the certificate that it is for. */
const stateFolderOf = (name: string, { out }: IssuedFiles): string =>
  join(dirname(resolve(out)), `.signet-${basename(name)}`);

const isMissing = (file: string): boolean => lstatSync(file, { throwIfNoEntry: false }) === undefined;

const isLinkTo = (file: string, target: string): boolean =>
  lstatSync(file).isSymbolicLink() && readlinkSync(file) === target;
