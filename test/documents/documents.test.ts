/**
 * Every output that these pages show is real: their commands run one after the other in one bash, against a new server in
 * this process, and must print what is written there. `UPDATE_DOCUMENTS=1` writes what they print.
 */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { before, test } from "node:test";
import { freePorts } from "../../bench/processes/free-ports.ts";
import { bundleProgram } from "../../tools/package/program-bundle.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import { blocksNamed, comparable, consoleCommands, withOutputs, wordReplacer } from "./console-blocks.ts";
import { ConsoleSession } from "./console-session.ts";
import { pages, pythonPrograms } from "./pages.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const root = join(import.meta.dirname, "../..");
const isUpdating = process.env["UPDATE_DOCUMENTS"] === "1";
/** The program as an install has it, which starts sooner than its sources, and its compiled code. All pages use it. */
const install = temporaryFolder();
before(async () => {
  await bundleProgram(join(install, "dist"));
  symlinkSync(join(root, "node_modules"), join(install, "node_modules"));
});
const hasKubectl = spawnSync("kubectl", ["version", "--client"]).status === 0;

for (const page of pages) {
  const { file, ports = [] } = page;
  test(
    `${file} shows what its commands print`,
    { skip: page.missing ?? (!hasKubectl && "kubectl is not installed") },
    async (context) => {
      const path = join(root, file);
      const markdown = readFileSync(path, "utf8");
      const folder = mkdtempSync(join(tmpdir(), "signet-documents-"));
      let server: TestServer | undefined;
      let session: ConsoleSession | undefined;
      // In this order: what still runs would write to the folder while it is removed.
      context.after(async () => {
        await session?.close();
        await server?.stop();
        rmSync(folder, { recursive: true, force: true });
      });
      cpSync(join(root, "examples"), join(folder, "examples"), { recursive: true });
      const free = await freePorts(ports.length);
      const ownPlaces: [string, string][] = ports.map((port, index) => [port, String(free[index])]);
      if (page.folder !== undefined) ownPlaces.push([page.folder, folder]);
      /** What the page says, with this test's ports and folder in place of its own; and back. */
      const asRun = wordReplacer(ownPlaces);
      const asShown = wordReplacer(ownPlaces.map(([own, place]) => [place, own]));
      for (const { name, text } of blocksNamed(markdown)) writeFileSync(join(folder, name), asRun(text));
      for (const copied of page.copies ?? []) cpSync(join(root, copied), join(folder, basename(copied)));
      if (page.server !== "started by the page") {
        server = await startTestServer({ dataDirectory: join(folder, "server") });
      }

      const signet = join(folder, "signet");
      writeFileSync(signet, `#!/bin/sh\nexec "${process.execPath}" "${join(install, "dist/main.js")}" "$@"\n`);
      chmodSync(signet, 0o755);
      mkdirSync(join(folder, "node_modules"));
      symlinkSync(root, join(folder, "node_modules/signet"));
      symlinkSync(join(root, "src"), join(folder, "src"));
      for (const name of page.packages ?? []) {
        symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
      }
      session = new ConsoleSession(folder, {
        ...process.env,
        PATH: [folder, pythonPrograms, process.env["PATH"]].join(delimiter),
        HOME: folder,
        XDG_CACHE_HOME: join(install, "cache"),
        ...(server !== undefined && { KUBECONFIG: server.kubeconfigFile }),
        NODE_OPTIONS: "--conditions=signet-source",
      });

      const commands = consoleCommands(markdown);
      assert.ok(commands.length > 0, "the page has a session");
      const outputs: string[] = [];
      for (const { command, output } of commands) {
        const printed = asShown(await session.run(asRun(command)));
        if (isUpdating) outputs.push(comparable(printed) === comparable(output) ? output : printed);
        else assert.equal(comparable(printed), comparable(output), `$ ${command}`);
      }
      if (isUpdating) writeFileSync(path, withOutputs(markdown, outputs));
    },
  );
}
