import { join } from "node:path";
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
import { issuedOutput, stateFolderOf } from "./issued-files.ts";
import type { IssuedFiles } from "./issued-files.ts";
import { PublishedCertificate } from "./published-certificate.ts";
import { RequestRefused } from "./request-certificate.ts";
import type { WantedCertificate } from "./wanted-certificate.ts";

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

export interface ObtainOptions {
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
 * `isRenewed` it goes on with that until `signal` aborts; a refusal of the first certificate ends it. Returns the certificate
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
