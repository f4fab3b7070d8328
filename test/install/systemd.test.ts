import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { endsWithParent } from "../../bench/processes/ends-with-parent.ts";
import { signetProgram } from "../../bench/processes/signet-program.ts";
import { temporaryFolder } from "../temporary-folder.ts";

const root = join(import.meta.dirname, "../..");
const has = (program: string): boolean => spawnSync(program, ["--version"]).status === 0;

it("the units of server and agent reload with SIGHUP", () => {
  for (const unit of ["signet.service", "signet-agent.service"]) {
    assert.match(
      readFileSync(join(root, "packaging/systemd", unit), "utf8"),
      /^ExecReload=\/bin\/kill -HUP \$MAINPID$/m,
      unit,
    );
  }
});

it("the units of server and agent are started again after any number of failed starts", () => {
  for (const unit of ["signet.service", "signet-agent.service"]) {
    const text = readFileSync(join(root, "packaging/systemd", unit), "utf8");
    assert.match(text, /^\[Unit\]$[^[]*^StartLimitIntervalSec=0$/m, unit);
    assert.match(text, /^Restart=on-failure$/m, unit);
  }
});

it("the unit of the agent has something in the place of a token that its owner has deleted", () => {
  const unit = readFileSync(join(root, "packaging/systemd/signet-agent.service"), "utf8");
  const loaded = [...unit.matchAll(/^LoadCredential=([^:]+):/gm)].map(([, name]) => name);
  // An empty default counts as none (systemd 252).
  const given = [...unit.matchAll(/^SetCredential=([^:]+):\\n$/gm)].map(([, name]) => name);
  assert.deepEqual([loaded, given], [["bootstrap-token"], ["bootstrap-token"]]);
});

describe(
  "signet serve, started by systemd",
  { skip: !(has("python3") && has("systemd-notify")) && "no systemd" },
  () => {
    it("serves a passed socket, and notifies systemd when it is ready and when it stops", async () => {
      const folder = temporaryFolder();
      const [program = "", ...words] = [
        ...endsWithParent,
        ...["python3", join(import.meta.dirname, "service-manager.py")],
        ...[process.execPath, signetProgram, "serve", "--data-dir", join(folder, "data"), "--secure-port", "1"],
      ];
      const manager = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"] });
      const lines = createInterface({ input: manager.stdout })[Symbol.asyncIterator]();
      const next = async (pattern: RegExp): Promise<RegExpExecArray> => {
        for (;;) {
          const { value, done } = await lines.next();
          if (done === true) throw new Error(`the server ended before it said ${pattern}`);
          const match = pattern.exec(value);
          if (match !== null) return match;
        }
      };
      const port = (await next(/^port (\d+)$/))[1];
      const url = (await next(/listens on (\S+)/))[1];
      assert.equal(url, `https://127.0.0.1:${port}`);
      await next(/^READY=1$/);
      const kubeconfig = readFileSync(join(folder, "data/admin.kubeconfig"), "utf8");
      assert.match(kubeconfig, new RegExp(`server: ${url}`));
      manager.stdin.write("stop\n");
      await next(/^STOPPING=1$/);
      await next(/^exit 0$/);
      await once(manager, "close");
    });

    it("refuses a passed socket with several workers, in one line", () => {
      const words = [process.execPath, signetProgram, "serve", "--workers", "2", "--data-dir", "/nowhere"];
      const { stdout, stderr } = spawnSync("python3", [join(import.meta.dirname, "service-manager.py"), ...words], {
        encoding: "utf8",
        env: { ...process.env, LC_ALL: "C" }, // a shell on the way may warn of a locale that is not installed
      });
      assert.match(stdout, /^exit 2$/m);
      assert.match(stderr, /^signet: [^\n]*--workers[^\n]*\n$/);
    });
  },
);

describe("the systemd units", { skip: !has("systemd-analyze") && "systemd is not installed" }, () => {
  it("are accepted by systemd, and restrict what the process can reach", () => {
    const folder = temporaryFolder();
    // The program need not be installed here.
    const units = readdirSync(join(root, "packaging/systemd")).map((name) => {
      const file = join(folder, name);
      const unit = readFileSync(join(root, "packaging/systemd", name), "utf8");
      writeFileSync(
        file,
        unit.replaceAll(/\/usr\/bin\/signet(-agent)?/g, "/bin/true").replaceAll(/^Documentation=.*\n/gm, ""),
      );
      return file;
    });
    assert.equal(units.length, 3);
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", ...units], { encoding: "utf8" });
    // It complains about units of other packages of the machine, too.
    const ours = stderr.split("\n").filter((line) => !/^(?:\/usr)?\/lib\/systemd\//.test(line));
    assert.deepEqual([status, ours], [0, [""]]);
    for (const unit of units.filter((name) => name.endsWith(".service"))) {
      // Of 100, 0 is the best; services without any hardening have 96.
      const { stdout } = spawnSync("systemd-analyze", ["security", "--offline=true", "--threshold=20", unit], {
        encoding: "utf8",
      });
      assert.match(stdout, /exposure level[^\n]*: 1\.\d OK/);
    }
  });
});
