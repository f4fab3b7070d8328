/** The agent's own packages: the Debian package, installed, run as its unit says, removed and purged; and the executable. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { parseKeyPair } from "../../src/agent/certificates/key-pair.ts";
import { serialNumberHex } from "../../src/pki/certificates/certificate.ts";
import { startMachineServer } from "../agent/machine-server.ts";
import type { MachineServer } from "../agent/machine-server.ts";
import { eventually } from "../end-to-end/eventually.ts";
import { ProgramProcess } from "../end-to-end/program-process.ts";
import { dpkg, purge, runWhereSystemdRefuses } from "./dpkg.ts";
import { run } from "./run.ts";

const root = join(import.meta.dirname, "../..");
const state = "/var/lib/signet-agent";
const configuration = "/etc/signet/agent.yaml";
const tokenFile = "/etc/signet/bootstrap-token";

const isInstalled = (name: string): boolean => spawnSync("dpkg", ["--status", name]).status === 0;

function reasonToSkip(): string | false {
  if (process.getuid?.() !== 0) return "only root can install packages";
  if (spawnSync("dpkg-deb", ["--version"]).status !== 0) return "this is no Debian";
  if (!isInstalled("nodejs")) return "the package nodejs is not installed here";
  return isInstalled("signet-agent") && "a package signet-agent is installed here";
}

describe("the packages of the agent", { skip: reasonToSkip() }, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-agent-package-"));
  let machines: MachineServer;
  let agent: ProgramProcess | undefined;
  let file = "";

  before(async () => {
    machines = await startMachineServer();
    [file = ""] = run(process.execPath, join(root, "tools/package/agent.ts"), folder).split("\n");
    dpkg("--install", file);
  });
  after(async () => {
    await agent?.end("SIGKILL");
    purge("signet-agent");
    await machines.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** A line of the installed unit. */
  const setting = (name: string): string =>
    new RegExp(`^${name}=(.*)$`, "m").exec(readFileSync("/usr/lib/systemd/system/signet-agent.service", "utf8"))?.[1] ??
    "";
  const asUser = (): string[] => {
    const user = setting("User");
    return ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--no-new-privs"];
  };
  const clientSerial = (): string =>
    serialNumberHex(parseKeyPair(readFileSync(join(state, "pki/client-current.pem"), "utf8")).certificate);

  it("are less than a megabyte beside the machine's Node.js, belong to root, and hide the token", () => {
    const paths = dpkg("--listfiles", "signet-agent").trim().split("\n");
    const bytes = paths.map((path) => statSync(path)).reduce((sum, one) => sum + (one.isFile() ? one.size : 0), 0);
    assert.ok(bytes < 1e6, String(bytes));
    assert.deepEqual(
      paths.filter(
        (path) => statSync(path).uid !== 0 || ((statSync(path).mode & 0o022) !== 0 && !statSync(path).isSymbolicLink()),
      ),
      [],
    );
    assert.equal(statSync(tokenFile).mode & 0o777, 0o600);
    assert.equal(statSync(state).mode & 0o777, 0o700);
  });

  it("are installed where the new version does not start, and say where to look", () => {
    const stderr = "signet-agent.service has not started: journalctl --unit signet-agent.service says why\n";
    const installing = { folder, script: "signet-agent.postinst", argument: "configure" };
    assert.deepEqual(runWhereSystemdRefuses("try-restart", installing), { status: 0, stderr });
  });

  it("are removed where systemd does not stop the agent, and says so", () => {
    const stderr = "signet-agent.service may still run: systemctl status signet-agent.service says whether\n";
    const removing = { folder, script: "signet-agent.prerm", argument: "remove" };
    assert.deepEqual(runWhereSystemdRefuses("disable", removing), { status: 0, stderr });
  });

  it("run as the unit's user without memory that is writable and executable, and renew a certificate", async () => {
    const token = join(state, "token");
    writeFileSync(token, machines.bootstrapToken, { mode: 0o600 });
    chownSync(token, statSync(state).uid, statSync(state).gid);
    writeFileSync(join(folder, "ca.crt"), readFileSync(machines.caFile));
    const text = readFileSync(configuration, "utf8")
      .replace("https://signet.example.com:6443", machines.url)
      .replace("/etc/signet/server-ca.crt", "/etc/signet/ca.pem")
      .replace(/bootstrapTokenFile: .*/, `bootstrapTokenFile: ${token}`);
    writeFileSync(configuration, `${text}nodeName: packaged\nnodeAddresses: [10.0.0.7]\nlisten: { port: 0 }\n`);
    writeFileSync("/etc/signet/ca.pem", readFileSync(machines.caFile));
    assert.equal(setting("MemoryDenyWriteExecute"), "yes");
    const denied = [
      "python3",
      "-c",
      "import ctypes,os,sys; ctypes.CDLL(None).prctl(65,1,0,0,0); os.execvp(sys.argv[1],sys.argv[1:])",
    ];
    const command = setting("ExecStart").split(" ");
    agent = new ProgramProcess([...asUser(), ...denied, ...command], { cwd: state, env: { PATH: "/usr/bin:/bin" } });
    await agent.find(/(node packaged serves)/);
    await agent.find(/"certificate":"serving".*(this certificate is in use)/);
    const before = clientSerial();
    const own = (...words: readonly string[]): string =>
      run("/usr/bin/signet-agent", ...words, "--config", configuration);
    own("renew", "client");
    await eventually("another client certificate", () => clientSerial() !== before);
    await eventually("all is in order", () => / current .*[^]* current /.test(own("status")));
    await agent.end("SIGTERM");
    assert.equal(await agent.ended(), 0);
    assert.doesNotMatch(agent.output, /Warning/);
  });

  it("include an executable that needs no Node.js", async () => {
    const executable = join(folder, "signet-agent");
    const once = new ProgramProcess(
      [
        ...[executable, "once", "--server", machines.url, "--ca-file", machines.caFile, "--node-name", "alone"],
        ...["--bootstrap-token", machines.bootstrapToken, "--data-dir", join(folder, "alone"), "--node-ip", "10.0.0.8"],
      ],
      { env: { PATH: "/usr/bin:/bin" } },
    );
    assert.equal(await once.ended(), 0, once.output);
    assert.match(once.output, /node alone\n[^]*client +current[^]*serving +current/);
    assert.doesNotMatch(once.output, /Warning/);
    assert.match(run(executable, "--version"), /^\d+\.\d+\.\d+\n$/);
    const licences = readFileSync(`${executable}.LICENCES`, "utf8");
    assert.ok(["\ncommander ", "\nyaml ", "\nNode.js v"].every((text) => licences.includes(text)));
  });

  it("leave settings and keys when they are removed, and nothing of theirs when they are purged", () => {
    dpkg("--remove", "signet-agent");
    assert.equal(existsSync("/usr/bin/signet-agent"), false);
    assert.ok(existsSync(join(state, "pki/client-current.pem")));
    assert.ok(existsSync(configuration));
    rmSync("/etc/signet/ca.pem");
    dpkg("--purge", "signet-agent");
    assert.deepEqual(
      [state, configuration, tokenFile, "/usr/lib/signet-agent"].map((path) => existsSync(path)),
      [false, false, false, false],
    );
  });

  it("keep a token that was there before them, and make none again where it was deleted", () => {
    mkdirSync(dirname(tokenFile), { recursive: true });
    writeFileSync(tokenFile, machines.bootstrapToken, { mode: 0o600 });
    dpkg("--install", file);
    assert.equal(readFileSync(tokenFile, "utf8"), machines.bootstrapToken);
    rmSync(tokenFile);
    dpkg("--install", file);
    assert.equal(existsSync(tokenFile), false);
  });
});
