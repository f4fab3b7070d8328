import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { KeyObject } from "node:crypto";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Debian's package softhsm2. */
const modulePath = "/usr/lib/softhsm/libsofthsm2.so";

const isMissing = (program: string): boolean => spawnSync(program, ["--help"]).error !== undefined;

/** Why there is no token on this machine. */
export const softTokenMissing: string | false =
  existsSync(modulePath) && !isMissing("softhsm2-util") && !isMissing("p11-kit")
    ? false
    : "softhsm2 and p11-kit are not installed: apt-get install softhsm2 p11-kit";

/** A token of SoftHSM in a folder of its own. One for a process: its library finds it by an environment variable. */
export class SoftToken {
  readonly folder = mkdtempSync(join(tmpdir(), "signet-softhsm-"));
  readonly pinFile = join(this.folder, "pin");
  readonly #tokens = join(this.folder, "tokens");

  constructor() {
    mkdirSync(this.#tokens);
    writeFileSync(join(this.folder, "softhsm2.conf"), `directories.tokendir = ${this.#tokens}\nlog.level = ERROR\n`);
    process.env["SOFTHSM2_CONF"] = join(this.folder, "softhsm2.conf");
    writeFileSync(this.pinFile, "1234\n", { mode: 0o600 });
    this.#run("--init-token", "--free", "--label", "test", "--pin", "1234", "--so-pin", "5678");
  }

  /** Puts a key into the token, and returns its URI. */
  import(label: string, key: KeyObject): string {
    const file = join(this.folder, `${label}.pem`);
    writeFileSync(file, key.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    const id = Buffer.from(label).toString("hex");
    this.#run("--import", file, "--token", "test", "--label", label, "--id", id, "--pin", "1234");
    rmSync(file);
    return `pkcs11:token=test;object=${label}?module-path=${modulePath}&pin-source=file:${this.pinFile}`;
  }

  takeOut(): void {
    renameSync(this.#tokens, `${this.#tokens}-out`);
    mkdirSync(this.#tokens);
  }

  putIn(): void {
    rmSync(this.#tokens, { recursive: true });
    renameSync(`${this.#tokens}-out`, this.#tokens);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }

  #run(...args: readonly string[]): void {
    execFileSync("softhsm2-util", args, { stdio: "pipe" });
  }
}
