import assert from "node:assert/strict";
import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe } from "node:test";
import { namesFor } from "../../../src/machinery/api/names.ts";
import type { Names, Profile } from "../../../src/machinery/api/names.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

const isKubectlInstalled = spawnSync("kubectl", ["version", "--client"]).status === 0;

export interface KubectlAnswer {
  readonly exitCode: number;
  readonly output: string;
  readonly errors: string;
}

export interface KubectlOptions {
  readonly input?: string;
  /** More environment variables, such as KUBE_EDITOR. */
  readonly environment?: Readonly<Record<string, string>>;
}

/** One server, and kubectl with its own kubeconfig, home and cache. */
export class KubectlScene {
  readonly names: Names;
  readonly #folder = mkdtempSync(join(tmpdir(), "signet-kubectl-"));
  #server: TestServer | undefined;

  /** Default: a server with the names of only one profile. */
  constructor(profile: Profile, { hasUpstreamNames = false } = {}) {
    this.names = namesFor(profile, { hasUpstreamNames });
  }

  get server(): TestServer {
    assert.ok(this.#server, "the server is started before the tests");
    return this.#server;
  }

  async start(): Promise<void> {
    const { profile, other } = this.names;
    const settings = profile === "platform" && other === undefined ? { "upstream-names": false } : {};
    this.#server = await startTestServer({ profile, settings });
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Writes a file into the scene's folder, which is where kubectl runs. */
  file(name: string, content: string): string {
    const path = join(this.#folder, name);
    writeFileSync(path, content);
    return path;
  }

  /** Runs a command line, in which single quotes keep a word together. */
  run(line: string, { input, environment }: KubectlOptions = {}): Promise<KubectlAnswer> {
    return new Promise((resolve) => {
      const process = execFile("kubectl", words(line), this.#options(environment), (error, output, errors) => {
        resolve({ exitCode: error === null ? 0 : Number(error.code ?? 1), output, errors });
      });
      process.stdin?.end(input ?? "");
    });
  }

  /** The output of a command that succeeds. */
  async output(line: string, options?: KubectlOptions): Promise<string> {
    const { exitCode, output, errors } = await this.run(line, options);
    assert.equal(exitCode, 0, `kubectl ${line}\n${errors}`);
    return output;
  }

  /** The error text of a command that fails. */
  async refusal(line: string, options?: KubectlOptions): Promise<string> {
    const { exitCode, output, errors } = await this.run(line, options);
    assert.notEqual(exitCode, 0, `kubectl ${line}\n${output}`);
    return errors;
  }

  /** The table that a command prints, as rows of cells; empty cells are lost. */
  async table(line: string): Promise<string[][]> {
    return cells(await this.output(line));
  }

  /** A command that prints until the test ends it; `next` resolves to its next line. */
  follow(line: string): { next(): Promise<string>; end(): void } {
    const process = spawn("kubectl", words(line), this.#options());
    const lines = createInterface({ input: process.stdout })[Symbol.asyncIterator]();
    return {
      async next() {
        const { value, done } = await lines.next();
        assert.ok(done !== true, `kubectl ${line} ended`);
        return value;
      },
      end: () => void process.kill(),
    };
  }

  #options(environment: Readonly<Record<string, string>> = {}) {
    return {
      cwd: this.#folder,
      timeout: 60_000,
      env: {
        PATH: process.env["PATH"],
        HOME: this.#folder,
        KUBECACHEDIR: join(this.#folder, "cache"),
        KUBECONFIG: this.server.kubeconfigFile,
        GOGC: "off", // a command ends before its garbage matters
        ...environment,
      },
    };
  }
}

/** The words of a command line. Single quotes keep a word together, and are removed. */
const words = (line: string): string[] =>
  (line.match(/(?:[^\s']|'[^']*')+/g) ?? []).map((word) => word.replaceAll("'", ""));

/** The rows of a printed table: columns are at least two spaces apart. */
export const cells = (output: string): string[][] =>
  output
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => line.trim().split(/ {2,}/));

/** Runs the same tests against a server of each profile; where kubectl is not installed it says so and runs none. */
export function describeKubectl(
  title: string,
  profiles: readonly Profile[],
  defineTests: (scene: KubectlScene) => void,
): void {
  if (!isKubectlInstalled) {
    describe(title, { skip: "kubectl is not installed" });
    return;
  }
  for (const profile of profiles)
    describeScene(`${title} (profile ${profile})`, new KubectlScene(profile), defineTests);
}

/** The same against a default server, which has both names. */
export function describeKubectlOfBoth(title: string, defineTests: (scene: KubectlScene) => void): void {
  if (!isKubectlInstalled) describe(title, { skip: "kubectl is not installed" });
  else describeScene(title, new KubectlScene("platform", { hasUpstreamNames: true }), defineTests);
}

function describeScene(title: string, scene: KubectlScene, defineTests: (scene: KubectlScene) => void): void {
  describe(title, () => {
    before(() => scene.start());
    after(() => scene.stop());
    defineTests(scene);
  });
}

/** Commands that depend on discovery, OpenAPI or names. */
export const bothProfiles: readonly Profile[] = ["kubernetes", "platform"];
/** Commands that have upstream's groups built in, and commands that are the same for both profiles. */
export const kubernetesOnly: readonly Profile[] = ["kubernetes"];
