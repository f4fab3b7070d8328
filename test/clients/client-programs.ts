import { execFile, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const here = import.meta.dirname;
const root = join(here, "../..");
/** The folder into which `npm run clients:install` installs. */
const installed = join(root, ".clients");
const certificateRequest = join(root, "test/conformance/fixtures/cert-csr-p384.pem");

/** Programs that speak to a server with one client library, and print `ok: ...` for each thing that works. */
export interface ClientProgram {
  /** The client, as `docs/clients.md` lists it. */
  readonly name: string;
  /** Undefined when it is not on this machine. */
  version(): string | undefined;
  /** The command that installs the client. */
  readonly howToInstall: string;
  /** What only this client can do. Absent: a test suite with servers of its own covers this. */
  readonly suite?: Command;
  /** Writes in one spelling of the groups and reads in the other, all four ways. */
  readonly bothNames?: Command;
}

/** The words of a command, before the arguments `KUBECONFIG CERTIFICATE_REQUEST.pem`. */
export type Command = () => readonly [program: string, ...args: string[]];

const ofPython = join(installed, "python/bin/python3");
export const python = (): string => (existsSync(ofPython) ? ofPython : "python3");
export const javaClassPath = join(installed, "java", "*");
const java = (program: string) => () => ["java", "-cp", javaClassPath, join(here, "java", program)] as const;
const go = (program: string) => () => [join(installed, "go", program)] as const;
const installs = (language: string): string => `npm run clients:install -- ${language}`;

export const clientPrograms: readonly ClientProgram[] = [
  {
    name: "kubectl",
    version: () => /"gitVersion": "v([^"]+)"/.exec(outputOf("kubectl", "version", "--client", "--output", "json"))?.[1],
    howToInstall: "https://kubernetes.io/docs/tasks/tools",
    bothNames: () => ["bash", join(here, "kubectl/both-names.sh")],
  },
  {
    name: "@kubernetes/client-node",
    version: () => versionIn("node_modules/@kubernetes/client-node/package.json", /"version": "([^"]+)"/),
    howToInstall: "npm ci",
    bothNames: () => [process.execPath, join(here, "client-node/both-names.ts")],
  },
  {
    name: "k8s.io/client-go",
    version: () => (areGoProgramsThere() ? versionIn("test/clients/go/go.mod", /client-go v(\S+)/) : undefined),
    howToInstall: installs("go"),
    suite: go("client-go"),
    bothNames: go("both-names"),
  },
  {
    name: "sigs.k8s.io/controller-runtime",
    version: () =>
      areGoProgramsThere() ? versionIn("test/clients/go/go.mod", /controller-runtime v(\S+)/) : undefined,
    howToInstall: installs("go"),
    bothNames: go("controller-runtime"),
  },
  {
    name: "kubernetes (Python)",
    version: () =>
      outputOf(python(), "-c", "import kubernetes.dynamic; print(kubernetes.__version__)").trim() || undefined,
    howToInstall: installs("python"),
    suite: () => [python(), join(here, "python/client.py")],
    bothNames: () => [python(), join(here, "python/both_names.py")],
  },
  {
    name: "io.fabric8:kubernetes-client (Java)",
    version: () =>
      existsSync(join(installed, "java")) && spawnSync("java", ["--version"]).status === 0
        ? versionIn("test/clients/java/pom.xml", /<artifactId>kubernetes-client<\/artifactId>\s*<version>([^<]+)</)
        : undefined,
    howToInstall: installs("java"),
    suite: java("Client.java"),
    bothNames: java("BothNames.java"),
  },
];

/** Why a test with this client cannot run, or false. */
export function whyNot(name: string): string | false {
  const program = clientPrograms.find((one) => one.name === name);
  if (program === undefined) throw new Error(`there is no client ${name}`);
  return program.version() === undefined && `it is not installed: ${program.howToInstall}`;
}

/** Runs a command against a server; resolves with what worked. Rejects with what the program said. */
export async function runProgram(command: Command, kubeconfigFile: string): Promise<string[]> {
  const [program, ...args] = command();
  const all = [...args, kubeconfigFile, certificateRequest];
  const { stdout } = await promisify(execFile)(program, all, { timeout: 600_000 });
  return stdout
    .split("\n")
    .filter((line) => line.startsWith("ok: "))
    .map((line) => line.slice("ok: ".length));
}

function outputOf(program: string, ...args: readonly string[]): string {
  return spawnSync(program, args, { encoding: "utf8" }).stdout ?? "";
}

const versionIn = (file: string, pattern: RegExp): string | undefined =>
  pattern.exec(readFileSync(join(root, file), "utf8"))?.[1];

/**
 * Go's programs are run if they are compiled, or can be compiled at once from Go's caches, without the network. Compiling all of
 * client-go takes minutes.
 */
function areGoProgramsThere(): boolean {
  areGoProgramsBuilt ??= buildGoPrograms();
  return areGoProgramsBuilt;
}
let areGoProgramsBuilt: boolean | undefined;

function buildGoPrograms(): boolean {
  const options = {
    cwd: join(here, "go"),
    env: { ...process.env, GOPROXY: "off", GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local" },
    encoding: "utf8",
  } as const;
  const listed = spawnSync(
    "go",
    ["list", "-deps", "-f", "{{if .Stale}}{{.ImportPath}} {{.StaleReason}}{{end}}", "./..."],
    options,
  );
  if (listed.status !== 0 || /^(?!signet\/).*(?:stale dependency|build ID mismatch)$/m.test(listed.stdout))
    return false;
  mkdirSync(join(installed, "go"), { recursive: true });
  return spawnSync("go", ["build", "-o", join(installed, "go/"), "./..."], options).status === 0;
}
