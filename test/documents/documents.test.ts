/**
 * Every output that a document shows is real: its commands are run against a server of their own and must print what is
 * written there. `UPDATE_DOCUMENTS=1` writes what they print.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { startServerProcess } from "../../bench/server-process.ts";
import { comparable, consoleCommands, withOutputs } from "./console-blocks.ts";

const root = join(import.meta.dirname, "../..");
const isUpdating = process.env["UPDATE_DOCUMENTS"] === "1";
const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;

/** Documents whose commands run one after the other against one new server of a profile. */
const documents = [
  { file: "README.md", profile: "platform" },
  { file: "docs/serves.md", profile: "platform" },
] as const;

for (const { file, profile } of documents) {
  test(
    `${file} shows what its commands print`,
    { skip: !hasKubectl && "kubectl is not installed" },
    async (context) => {
      const folder = mkdtempSync(join(tmpdir(), "signet-documents-"));
      context.after(() => rmSync(folder, { recursive: true, force: true }));
      const dataDirectory = join(folder, "data");
      const server = await startServerProcess(dataDirectory, { flags: ["--profile", profile] });
      context.after(() => server.stop());
      const signet = join(folder, "signet");
      writeFileSync(signet, `#!/bin/sh\nexec "${process.execPath}" "${join(root, "src/main.js")}" "$@"\n`);
      chmodSync(signet, 0o755);

      const path = join(root, file);
      const markdown = readFileSync(path, "utf8");
      const commands = consoleCommands(markdown);
      const outputs = commands.map(({ command }) => {
        const { stdout, stderr } = spawnSync("bash", ["-c", command], {
          cwd: folder,
          encoding: "utf8",
          timeout: 60_000,
          env: {
            ...process.env,
            PATH: `${folder}${delimiter}${process.env["PATH"]}`,
            HOME: folder,
            KUBECONFIG: join(dataDirectory, "admin.kubeconfig"),
          },
        });
        return stdout + stderr;
      });
      if (isUpdating) writeFileSync(path, withOutputs(markdown, outputs));
      else {
        for (const [index, { command, output }] of commands.entries()) {
          assert.equal(comparable(outputs[index] ?? ""), comparable(output), `$ ${command}`);
        }
      }
    },
  );
}
