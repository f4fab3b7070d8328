/**
 * Every output that these pages show is real: their commands run one after the other in one bash, against a new server in
 * this process, and must print what is written there. `UPDATE_DOCUMENTS=1` writes what they print.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { after, test } from "node:test";
import { startTestServer } from "../test-server.ts";
import { blocksNamed, comparable, consoleCommands, withOutputs } from "./console-blocks.ts";
import { ConsoleSession } from "./console-session.ts";

const root = join(import.meta.dirname, "../..");
const isUpdating = process.env["UPDATE_DOCUMENTS"] === "1";
/** One for all pages: a command need not compile what another has compiled. */
const cache = mkdtempSync(join(tmpdir(), "signet-documents-cache-"));
after(() => rmSync(cache, { recursive: true, force: true }));
const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;

interface Page {
  readonly file: string;
  /** Settings of the page's server that name files of the page. */
  readonly serverFiles?: Readonly<Record<string, string>>;
  /** Other settings of it. */
  readonly serverSettings?: Readonly<Record<string, unknown>>;
  /** Default: in memory. */
  readonly storage?: "lmdb";
  /** The page starts what it needs by itself, on these ports. The test takes free ones in their place. */
  readonly ownPorts?: readonly string[];
  /** The folder in which the page says that it is. The test's folder takes its place. */
  readonly ownFolder?: string;
  /** Files of the repository that the page's commands read. */
  readonly copies?: readonly string[];
  /** Why it cannot run on this machine. */
  readonly missing?: string | undefined;
}

const pages: readonly Page[] = [
  { file: "docs/tokens.md" },
  { file: "docs/rbac.md" },
  { file: "docs/admission-policies.md" },
  {
    file: "docs/certificates.md",
    serverFiles: { "approval-policy": "policy.yaml", "signer-config": "examples/signers.yaml" },
  },
  { file: "docs/serves.md" },
  { file: "docs/backup.md", storage: "lmdb" },
  { file: "docs/revocation.md" },
  { file: "docs/keys.md", storage: "lmdb" },
  {
    file: "docs/audit.md",
    serverFiles: { "audit-policy-file": "policy.yaml", "audit-log-path": "audit.log" },
    serverSettings: { "audit-log-chain": true },
  },
  { file: "docs/node-agent.md", ownPorts: ["6443", "10250"] },
  {
    file: "docs/services.md",
    ownPorts: ["6443", "10250", "8443", "9443", "5432"],
    ownFolder: "/tmp/walk",
    copies: ["test/end-to-end/services/Service.java"],
    missing: missingForServices(),
  },
];

for (const {
  file,
  serverFiles = {},
  serverSettings = {},
  storage = "memory",
  ownPorts,
  ownFolder,
  copies = [],
  missing,
} of pages) {
  test(
    `${file} shows what its commands print`,
    { skip: missing ?? (!hasKubectl && "kubectl is not installed") },
    async (context) => {
      const path = join(root, file);
      const markdown = readFileSync(path, "utf8");
      const folder = mkdtempSync(join(tmpdir(), "signet-documents-"));
      context.after(() => rmSync(folder, { recursive: true, force: true }));
      cpSync(join(root, "examples"), join(folder, "examples"), { recursive: true });
      const ports = await Promise.all((ownPorts ?? []).map(async (own) => ({ own, free: await freePort() })));
      const replaced = [...ports, ...(ownFolder === undefined ? [] : [{ own: ownFolder, free: folder }])];
      /** What the page says, with this test's ports and folder in place of its own; and back. */
      const asRun = (text: string) => replaced.reduce((now, { own, free }) => now.replaceAll(own, free), text);
      const asShown = (text: string) => replaced.reduce((now, { own, free }) => now.replaceAll(free, own), text);
      for (const { name, text } of blocksNamed(markdown)) writeFileSync(join(folder, name), asRun(text));
      for (const copied of copies) cpSync(join(root, copied), join(folder, basename(copied)));
      const settings = Object.entries(serverFiles).map(([name, value]) => [name, join(folder, value)]);
      const server =
        ownPorts === undefined
          ? await startTestServer({
              storage,
              dataDirectory: join(folder, "server"),
              settings: { ...serverSettings, ...Object.fromEntries(settings) },
            })
          : undefined;
      context.after(() => server?.stop());

      const signet = join(folder, "signet");
      writeFileSync(signet, `#!/bin/sh\nexec "${process.execPath}" "${join(root, "src/main.js")}" "$@"\n`);
      chmodSync(signet, 0o755);
      mkdirSync(join(folder, "node_modules"));
      symlinkSync(root, join(folder, "node_modules/signet"));
      const session = new ConsoleSession(folder, {
        ...process.env,
        PATH: `${folder}${delimiter}${process.env["PATH"]}`,
        HOME: folder,
        XDG_CACHE_HOME: cache,
        ...(server !== undefined && { KUBECONFIG: server.kubeconfigFile }),
        NODE_OPTIONS: "--conditions=signet-source",
      });
      context.after(() => session.close());

      const outputs: string[] = [];
      for (const { command, output } of consoleCommands(markdown)) {
        const printed = asShown(await session.run(asRun(command)));
        outputs.push(printed);
        if (!isUpdating) assert.equal(comparable(printed), comparable(output), `$ ${command}`);
      }
      assert.ok(outputs.length > 0, "the page has a session");
      if (isUpdating) writeFileSync(path, withOutputs(markdown, outputs));
    },
  );
}

/** A port that was free a moment ago. */
async function freePort(): Promise<string> {
  const listener = createServer().listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo; // it listens on a port
  listener.close();
  await once(listener, "close");
  return String(port);
}

/** What `docs/services.md` needs and is not on this machine. */
function missingForServices(): string | undefined {
  if (process.getuid?.() !== 0) return "it gives files to PostgreSQL's user, and you are not root";
  const programs = ["nginx", "psql", "java"];
  const missing = programs.find((program) => spawnSync("which", [program]).status !== 0);
  return missing && `${missing} is not installed`;
}
