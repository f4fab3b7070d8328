import { join } from "node:path";
import type { Names } from "../../machinery/api/names.ts";
import type { ApiClient } from "../../machinery/client/api-client.ts";
import { CommandFailure, commandRefused } from "../../machinery/command-line/command-failure.ts";
import { ownGuardedFolder } from "../../machinery/files/folders/own-guarded-folder.ts";
import type { OwnedFolder } from "../../machinery/files/folders/owned-folder.ts";
import { removeUnfinishedFiles } from "../../machinery/files/unfinished-files.ts";
import { Repetition } from "../../machinery/loops/repetition.ts";
import { UnusableFile } from "../../machinery/files/unusable-file.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import type { Hook } from "../agent-settings.ts";
import { approvalAdvice } from "../certificates/approval-advice.ts";
import { CertificateManager } from "../certificates/certificate-manager.ts";
import type { CertificateManagerOptions } from "../certificates/certificate-manager.ts";
import { CertificateStore } from "../certificates/certificate-store.ts";
import { FailureLog } from "../failure-log.ts";
import { HookMemory } from "../files/hook-memory.ts";
import { hookGraceMilliseconds, HookRunner } from "../files/hook-runner.ts";
import { issuedOutput, stateFolderOf } from "./issued-output.ts";
import type { IssuedFiles, IssuedOutput } from "./issued-output.ts";
import { PublishedCertificate } from "../files/published-certificate.ts";
import { checkRevocation } from "../certificates/check-revocation.ts";
import { RequestRefused } from "../certificates/request-certificate.ts";
import type { WantedCertificate } from "../certificates/wanted-certificate.ts";

/** A certificate to obtain, and its files. */
export interface IssueOrder {
  readonly name: string;
  readonly wanted: WantedCertificate;
  /** Undefined: the signer chooses the lifetime. */
  readonly lifetimeSeconds: number | undefined;
  readonly files: IssuedFiles;
  /** Whether to keep renewing it. */
  readonly isRenewed: boolean;
  readonly hook: Hook | undefined;
}

interface ObtainOptions extends Pick<CertificateManagerOptions, "clock" | "monotonic" | "random" | "sleep" | "log"> {
  readonly names: Names;
  /** The client to request with now. */
  readonly client: () => ApiClient;
  /** How long to wait for a certificate that is not to be renewed; 0: without a limit. */
  readonly timeoutMilliseconds: number;
  readonly onFailed: () => void;
  readonly signal: AbortSignal;
}

const pollMilliseconds = 100;
/** How often to ask whether the certificate is revoked: as often as an agent does. */
const reviewMilliseconds = 5 * 60_000;

/**
 * Obtains a certificate unless there is a current one that is not revoked, writes its files, and runs the hook after the files have
 * changed. With `isRenewed` it keeps renewing until `signal` aborts; a refusal of the first certificate ends it. Returns the certificate in
 * use. Throws CommandFailure, UsageError, UnusableFile, or the error that says why the server did not answer. The key and the request are
 * kept in the folder `.signet-NAME` beside the files, so that another run continues.
 */
export async function obtainCertificate(order: IssueOrder, options: ObtainOptions): Promise<Certificate | undefined> {
  const folder = stateFolderOf(order.name, order.files);
  const output = issuedOutput(order.files, folder);
  const owned = ownState(order.name, folder);
  try {
    return await new Issuance({ order, options, folder, output }).run();
  } finally {
    owned.release();
  }
}

interface IssuanceParts {
  readonly order: IssueOrder;
  readonly options: ObtainOptions;
  /** The folder with the key and the state. This process owns it. */
  readonly folder: string;
  readonly output: IssuedOutput;
}

/** The work on one certificate, until it is issued or, with `isRenewed`, until `signal` aborts. */
class Issuance {
  readonly #order: IssueOrder;
  readonly #options: ObtainOptions;
  readonly #output: IssuedOutput;
  readonly #stop = new AbortController();
  readonly #stopping: AbortSignal;
  readonly #hooks: HookRunner;
  readonly #store: CertificateStore;
  readonly #manager: CertificateManager;
  readonly #published: PublishedCertificate;
  /** Resolves when there is a certificate, or everything ends. Rejects when there will be none. */
  readonly #first = Promise.withResolvers<void>();

  constructor({ order, options, folder, output }: IssuanceParts) {
    this.#order = order;
    this.#options = options;
    this.#output = output;
    this.#stopping = AbortSignal.any([options.signal, this.#stop.signal]);
    this.#stopping.addEventListener("abort", () => this.#first.resolve());
    const { log, monotonic, random, sleep } = options;
    this.#hooks = new HookRunner({ memory: new HookMemory(folder, log), log, monotonic, random, sleep });
    const certificates = join(folder, "pki");
    this.#store = new CertificateStore(certificates, order.name);
    removeUnfinishedFiles(certificates);
    this.#manager = new CertificateManager({
      ...options,
      name: order.name,
      store: this.#store,
      lifetimeSeconds: order.lifetimeSeconds,
      renewalShare: undefined,
      requestPrefix: `${order.name}-csr-`,
      mustReplace: () => false,
      requestClient: options.client,
      onInstalled: () => this.#publish(),
      onFailed: (error) => this.#onFailed(error),
    });
    this.#published = new PublishedCertificate({
      ...order,
      current: () => this.#manager.current,
      file: this.#store.file,
      restore: () => this.#restore(),
      outputs: [output.output],
      changedFile: order.files.out,
      hooks: this.#hooks,
      failureLog: (texts) => new FailureLog({ ...texts, log, monotonic }),
      sleep,
      log,
    });
  }

  /** Returns the certificate in use. Call it once. */
  async run(): Promise<Certificate | undefined> {
    this.#manager.specify({ names: this.#options.names, wanted: this.#order.wanted });
    // When the server does not answer, the certificate counts as not revoked.
    await this.#checkRevocation().catch(() => {});
    const isCurrent = this.#manager.status.state === "current" && this.#store.pendingKey() === undefined;
    const work = this.#manager.run(this.#stopping);
    try {
      if (isCurrent) this.#publish();
      if (this.#order.isRenewed) {
        await this.#first.promise;
        await Promise.all([this.#published.run(this.#stopping), this.#revocationChecks().run(this.#stopping)]);
      } else {
        await this.#untilIssued();
        await this.#waitForHooks();
      }
      return this.#manager.current?.certificate;
    } finally {
      this.#stop.abort();
      await Promise.all([work, this.#hooks.stop({ graceMilliseconds: hookGraceMilliseconds })]);
    }
  }

  #revocationChecks(): Repetition {
    const { log, monotonic, random, sleep } = this.#options;
    const failureLog = new FailureLog({ failure: "could not look whether the certificate is revoked", log, monotonic });
    return new Repetition(
      async () => {
        await this.#checkRevocation();
        failureLog.succeeded();
      },
      {
        intervalMilliseconds: reviewMilliseconds,
        random,
        sleep,
        onFailure: (error) => failureLog.failed(error, { certificate: this.#order.name }),
      },
    );
  }

  #checkRevocation(): Promise<void> {
    const { names, client } = this.#options;
    return checkRevocation(this.#manager, { names, client: client() });
  }

  #restore(): void {
    this.#manager.restore();
    const files = this.#output.link();
    if (files.length > 0) this.#options.log.info({ certificate: this.#order.name, files }, "the links are made");
  }

  #publish(): void {
    this.#published.publish();
    this.#first.resolve();
  }

  #onFailed(error: unknown): void {
    this.#options.onFailed();
    const isRefusedAtFirst = this.#manager.current === undefined && error instanceof RequestRefused;
    if (!this.#order.isRenewed || isRefusedAtFirst) this.#first.reject(asFailure(error));
  }

  async #untilIssued(): Promise<void> {
    const waiting = new AbortController();
    if (this.#options.timeoutMilliseconds > 0)
      void this.#failWhenLate(AbortSignal.any([this.#stopping, waiting.signal]));
    await this.#first.promise.finally(() => waiting.abort());
    this.#options.signal.throwIfAborted();
    const { failure } = this.#manager.status;
    if (failure !== undefined) throw commandRefused(failure);
    const { fault } = this.#published;
    if (fault !== undefined) throw new CommandFailure(fault, { exit: "unwritable" });
  }

  /**
   * Fails when the certificate is late. While the server does not have the request yet, it waits for the running call instead, which has a
   * time limit of its own and whose error says more.
   */
  async #failWhenLate(signal: AbortSignal): Promise<void> {
    const { timeoutMilliseconds, sleep } = this.#options;
    let request: string | undefined;
    while (request === undefined && !signal.aborted) {
      await sleep(timeoutMilliseconds, signal);
      request = this.#manager.status.pendingRequest;
    }
    if (request !== undefined && !signal.aborted) this.#first.reject(this.#stillPending(request));
  }

  #stillPending(request: string): CommandFailure {
    const advice = approvalAdvice(this.#order.wanted.signerName, request);
    return new CommandFailure(
      `no certificate after ${this.#options.timeoutMilliseconds / 1000}s: ${advice}; ` +
        "then run the same command again, or wait longer with --timeout",
      { exit: "pending" },
    );
  }

  async #waitForHooks(): Promise<void> {
    const hooks = this.#hooks;
    const { sleep, signal } = this.#options;
    while (!hooks.isIdle && hooks.faults().length === 0 && !signal.aborted) await sleep(pollMilliseconds, signal);
    signal.throwIfAborted();
    const [fault] = hooks.faults();
    if (fault !== undefined)
      throw commandRefused(`the files are written, but ${fault}; the same command runs it again`);
  }
}

function ownState(name: string, folder: string): OwnedFolder {
  try {
    return ownGuardedFolder(folder);
  } catch (error) {
    if (!(error instanceof UnusableFile)) throw error;
    const advice = "or choose another NAME, or another folder for --out";
    throw new UnusableFile(`the key and state of the certificate ${name}: ${error.message}, ${advice}`, {
      cause: error,
    });
  }
}

const asFailure = (error: unknown): unknown =>
  error instanceof RequestRefused
    ? commandRefused(`${error.message.replace(/\.$/, "")}; change what is requested, or ask who decides`)
    : error;
