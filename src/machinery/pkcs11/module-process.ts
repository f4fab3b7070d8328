import { spawn } from "node:child_process";
import type { ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { noBytes } from "../api/bytes/no-bytes.ts";
import { AnswerReader, ModuleProtocolError, ModuleTimeout } from "./module-messages.ts";
import type { ModuleFunction, RequestWriter } from "./module-messages.ts";

export interface ModuleProcessOptions {
  /** The absolute path of the vendor's library. */
  readonly modulePath: string;
  /** The limit for each call. When a call exceeds it, the process is ended. */
  readonly timeoutMilliseconds: number;
}

const headerBytes = 12;
/** Longer than any expected answer, such as a few attributes of a key. */
const maximumAnswerBytes = 256 * 1024;
const maximumErrorText = 300;
const protocolVersion = 0;

/**
 * A vendor's PKCS #11 library in a process of its own (`p11-kit remote`), which takes one call after the other on its
 * standard input. A library that blocks or crashes does not harm this process.
 */
export class ModuleProcess {
  readonly #timeoutMilliseconds: number;
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  #received = noBytes;
  #hasVersion = false;
  #serial = 0;
  #waiting: { resolve(answer: Buffer): void; reject(error: Error): void } | undefined;
  #errorText = "";
  /** Why the process was ended. Undefined: it runs. */
  #failure: Error | undefined;

  constructor({ modulePath, timeoutMilliseconds }: ModuleProcessOptions) {
    this.#timeoutMilliseconds = timeoutMilliseconds;
    this.#child = spawn("p11-kit", ["remote", modulePath], { stdio: ["pipe", "pipe", "pipe"] });
    this.#child.stdin.on("error", () => {}); // its end says why
    this.#child.stdout.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#child.stderr.on("data", (chunk: Buffer) => {
      this.#errorText = (this.#errorText + chunk.toString("utf8")).slice(0, maximumErrorText);
    });
    this.#child.on("error", (error: NodeJS.ErrnoException) => {
      const isMissing = error.code === "ENOENT";
      this.#fail(
        isMissing
          ? new Error(`p11-kit is not installed, which runs the libraries of tokens (Debian: apt-get install p11-kit)`)
          : new Error(`p11-kit can't be started: ${error.message}`),
      );
    });
    this.#child.on("close", (code, signal) => {
      const said = this.#errorText.trim().split("\n")[0] ?? "";
      const how = `${signal ?? `exit ${code}`}${said === "" ? "" : `: ${said}`}`;
      // p11-kit says nothing about a library that it cannot load, and begins with the version once it has loaded one.
      const hasNotLoaded = signal === null && !this.#hasVersion;
      this.#fail(
        new Error(
          hasNotLoaded
            ? `p11-kit cannot load ${modulePath} (${how}); name the vendor's library in module-path, and let this user read it`
            : `p11-kit ended (${how})`,
        ),
      );
    });
    this.#child.stdin.write(Buffer.of(protocolVersion));
    // An idle token must not keep a command running.
    this.#child.unref();
    for (const pipe of [this.#child.stdin, this.#child.stdout, this.#child.stderr])
      if ("unref" in pipe && typeof pipe.unref === "function") pipe.unref();
  }

  get isOpen(): boolean {
    return this.#failure === undefined;
  }

  /**
   * Calls a function. One call at a time. Rejects with ModuleError when the function fails. Rejects with another Error, and ends the
   * process, when it has ended, breaks the protocol, or does not answer in time.
   */
  async call(request: RequestWriter): Promise<AnswerReader> {
    const { called } = request;
    const answer = await this.#exchange(called, request.finish());
    try {
      return new AnswerReader(answer, called);
    } catch (error) {
      if (error instanceof ModuleProtocolError) this.#fail(error);
      throw error;
    }
  }

  /** Ends the process. A running call rejects. */
  close(): void {
    this.#fail(new Error("it was closed"));
  }

  #exchange({ name }: ModuleFunction, body: Buffer): Promise<Buffer> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#waiting !== undefined) throw new Error("calls of a module are made one after the other");
    this.#serial = (this.#serial % 0x7fffffff) + 1;
    const header = Buffer.alloc(headerBytes);
    header.writeUInt32BE(this.#serial, 0);
    header.writeUInt32BE(body.length, 8);
    return new Promise((resolve, reject) => {
      const seconds = this.#timeoutMilliseconds / 1000;
      const timer = setTimeout(
        () => this.#fail(new ModuleTimeout(`the token did not answer ${name} within ${seconds} s`)),
        this.#timeoutMilliseconds,
      );
      const settled = (): void => {
        clearTimeout(timer);
        this.#waiting = undefined;
      };
      this.#waiting = {
        resolve(answer) {
          settled();
          resolve(answer);
        },
        reject(error) {
          settled();
          reject(error);
        },
      };
      this.#child.stdin.write(Buffer.concat([header, body]));
    });
  }

  #receive(chunk: Buffer): void {
    this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk]);
    if (!this.#hasVersion) {
      if (this.#received[0] !== protocolVersion)
        return this.#fail(new ModuleProtocolError("p11-kit speaks another protocol"));
      this.#hasVersion = true;
      this.#received = this.#received.subarray(1);
    }
    if (this.#received.length < headerBytes) return;
    const optionBytes = this.#received.readUInt32BE(4);
    const bodyBytes = this.#received.readUInt32BE(8);
    if (optionBytes + bodyBytes > maximumAnswerBytes) {
      return this.#fail(new ModuleProtocolError("an answer of the token is too long"));
    }
    const start = headerBytes + optionBytes;
    if (this.#received.length < start + bodyBytes) return;
    const isForThis = this.#received.readUInt32BE(0) === this.#serial && this.#received.length === start + bodyBytes;
    const body = Buffer.from(this.#received.subarray(start, start + bodyBytes));
    this.#received = noBytes;
    if (this.#waiting === undefined || !isForThis) {
      return this.#fail(new ModuleProtocolError("the token answered what was not asked"));
    }
    this.#waiting.resolve(body);
  }

  #fail(error: Error): void {
    if (this.#failure !== undefined) return;
    this.#failure = error;
    this.#child.kill("SIGKILL");
    this.#waiting?.reject(error);
  }
}
