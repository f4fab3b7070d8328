/**
 * Every output that these pages show is real: their commands run one after the other in one bash, against a new server in
 * this process, and must print what is written there. `UPDATE_DOCUMENTS=1` writes what they print.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { startTestServer } from "../test-server.ts";
import { blocksNamed, comparable, consoleCommands, withOutputs } from "./console-blocks.ts";
import { ConsoleSession } from "./console-session.ts";

const root = join(import.meta.dirname, "../..");
const isUpdating = process.env["UPDATE_DOCUMENTS"] === "1";
const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;

interface Page {
  readonly file: string;
  /** Settings of the page's server that name files of the page. */
  readonly serverFiles?: Readonly<Record<string, string>>;
  /** Other settings of it. */
  readonly serverSettings?: Readonly<Record<string, unknown>>;
  /** Default: in memory. */
  readonly storage?: "lmdb";
}

const pages: readonly Page[] = [
  { file: "docs/tokens.md" },
  { file: "docs/rbac.md" },
  {
    file: "docs/certificates.md",
    serverFiles: { "approval-policy": "policy.yaml", "signer-config": "examples/signers.yaml" },
  },
  { file: "docs/serves.md" },
  { file: "docs/operations.md", storage: "lmdb" },
  {
    file: "docs/audit.md",
    serverFiles: { "audit-policy-file": "policy.yaml", "audit-log-path": "audit.log" },
    serverSettings: { "audit-log-chain": true },
  },
];

for (const { file, serverFiles = {}, serverSettings = {}, storage = "memory" } of pages) {
  test(
    `${file} shows what its commands print`,
    { skip: !hasKubectl && "kubectl is not installed" },
    async (context) => {
      const path = join(root, file);
      const markdown = readFileSync(path, "utf8");
      const folder = mkdtempSync(join(tmpdir(), "signet-documents-"));
      context.after(() => rmSync(folder, { recursive: true, force: true }));
      cpSync(join(root, "examples"), join(folder, "examples"), { recursive: true });
      for (const { name, text } of blocksNamed(markdown)) writeFileSync(join(folder, name), text);
      const settings = Object.entries(serverFiles).map(([name, value]) => [name, join(folder, value)]);
      const server = await startTestServer({
        storage,
        dataDirectory: join(folder, "server"),
        settings: { ...serverSettings, ...Object.fromEntries(settings) },
      });
      context.after(() => server.stop());

      const signet = join(folder, "signet");
      writeFileSync(signet, `#!/bin/sh\nexec "${process.execPath}" "${join(root, "src/main.js")}" "$@"\n`);
      chmodSync(signet, 0o755);
      mkdirSync(join(folder, "node_modules"));
      symlinkSync(root, join(folder, "node_modules/signet"));
      const session = new ConsoleSession(folder, {
        ...process.env,
        PATH: `${folder}${delimiter}${process.env["PATH"]}`,
        HOME: folder,
        KUBECONFIG: server.kubeconfigFile,
        NODE_OPTIONS: "--conditions=signet-source",
      });
      context.after(() => session.close());

      const outputs: string[] = [];
      for (const { command, output } of consoleCommands(markdown)) {
        const printed = await session.run(command);
        outputs.push(printed);
        if (!isUpdating) assert.equal(comparable(printed), comparable(output), `$ ${command}`);
      }
      assert.ok(outputs.length > 0, "the page has a session");
      if (isUpdating) writeFileSync(path, withOutputs(markdown, outputs));
    },
  );
}
