/** The Debian package, installed on this machine, run by its unit file's command, removed and purged. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe, it } from "node:test";
import { endsWithParent } from "../../bench/processes/ends-with-parent.ts";
import { dpkg, purge, runWhereSystemdRefuses } from "./dpkg.ts";
import { run } from "./run.ts";

const root = join(import.meta.dirname, "../..");

function reasonToSkip(): string | false {
  if (process.getuid?.() !== 0) return "only root can install packages";
  if (spawnSync("dpkg-deb", ["--version"]).status !== 0) return "this is no Debian";
  return spawnSync("dpkg", ["--status", "signet"]).status === 0 && "a package signet is installed here";
}

describe("the Debian package", { skip: reasonToSkip() }, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-debian-"));
  let file = "";
  before(() => {
    const build = [process.execPath, join(root, "tools/package/debian.ts"), folder];
    file = run("env", "DPKG_DEB_COMPRESSOR_LEVEL=1", ...build).trim(); // less time: nobody downloads it
    dpkg("--install", file);
  });
  after(() => {
    purge("signet");
    rmSync(folder, { recursive: true, force: true });
  });

  /** A line of the installed unit. */
  const setting = (unit: string, name: string): string => {
    const text = readFileSync(`/usr/lib/systemd/system/${unit}`, "utf8");
    return new RegExp(`^${name}=(.*)$`, "m").exec(text)?.[1] ?? "";
  };

  it("belongs to root, and no other user can write to it", () => {
    const paths = dpkg("--listfiles", "signet").trim().split("\n");
    assert.ok(paths.includes("/usr/bin/signet"));
    const open = paths.filter((path) => {
      const { uid, mode } = statSync(path);
      return uid !== 0 || ((mode & 0o022) !== 0 && (mode & 0o1000) === 0);
    });
    assert.deepEqual(open, []);
  });

  it("runs the command of its unit as the unit's user, who can reach nothing but the state", async () => {
    const user = setting("signet.service", "User");
    const state = `/var/lib/${setting("signet.service", "StateDirectory")}`;
    assert.deepEqual([user, statSync(state).mode & 0o777], ["signet", 0o700]);
    // As an administrator would: 6443 may be taken here.
    const settings = readFileSync("/etc/signet/server.yaml", "utf8");
    writeFileSync("/etc/signet/server.yaml", settings.replace("secure-port: 6443", "secure-port: 0"));
    const command = setting("signet.service", "ExecStart").split(" ");
    const [program = "", ...words] = [
      ...endsWithParent,
      ...["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--no-new-privs", ...command],
    ];
    const server = spawn(program, words, {
      cwd: state,
      env: { PATH: "/usr/bin:/bin" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const ended = once(server, "exit");
    let url = "";
    for await (const line of createInterface({ input: server.stdout })) {
      url = /listens on (\S+)/.exec(line)?.[1] ?? url;
      if (line.startsWith("ready in ")) break;
    }
    assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/);
    assert.match(run("/usr/bin/signet", "whoami", "--kubeconfig", join(state, "admin.kubeconfig")), /admin/);
    assert.equal(
      spawnSync("setpriv", ["--reuid", "nobody", "--regid", "nogroup", "--clear-groups", "ls", state]).status,
      2,
    );
    server.stdout.resume();
    server.kill("SIGTERM");
    assert.deepEqual(await ended, [0, null]);
  });

  it("has no file of the agent's package, so that both can be installed", () => {
    const paths = dpkg("--listfiles", "signet").trim().split("\n");
    assert.deepEqual(
      paths.filter((path) => path.includes("signet-agent")),
      [],
    );
  });

  it("needs the package of what its unit runs for a reload", () => {
    const [program = ""] = setting("signet.service", "ExecReload").split(" ");
    const [owner] = dpkg("--search", program).split(":");
    const needed = run("dpkg-query", "--show", "--showformat=${Depends}", "signet");
    assert.ok(needed.split(", ").includes(owner ?? ""), `${owner}: ${needed}`);
  });

  it("is installed where the new version does not start, and says where to look", () => {
    const stderr = "signet.service has not started: journalctl --unit signet.service says why\n";
    const installing = { folder, script: "signet.postinst", argument: "configure" };
    assert.deepEqual(runWhereSystemdRefuses("try-restart", installing), { status: 0, stderr });
  });

  it("is removed where systemd does not stop it, and says so", () => {
    const stderr = "signet.service may still run: systemctl status signet.service says whether\n";
    const removing = { folder, script: "signet.prerm", argument: "remove" };
    assert.deepEqual(runWhereSystemdRefuses("disable", removing), { status: 0, stderr });
  });

  it("brings the manual and completion", () => {
    for (const path of [
      "man/man1/signet-csr-create.1.gz",
      "bash-completion/completions/signet",
      "doc/signet/copyright",
    ]) {
      assert.ok(existsSync(`/usr/share/${path}`), path);
    }
  });

  it("leaves the state when it is removed, and nothing when it is purged", () => {
    dpkg("--remove", "signet");
    assert.equal(existsSync("/usr/bin/signet"), false);
    assert.ok(existsSync("/var/lib/signet/ca.crt"));
    assert.ok(existsSync("/etc/signet/server.yaml"));
    dpkg("--purge", "signet");
    assert.deepEqual(
      [existsSync("/var/lib/signet"), existsSync("/etc/signet/server.yaml"), existsSync("/usr/lib/signet")],
      [false, false, false],
    );
  });
});
