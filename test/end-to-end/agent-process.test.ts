import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { TestContext } from "node:test";
import { signetProgram } from "../../bench/processes/signet-program.ts";
import { readAgentStatus } from "../../src/agent/agent-control.ts";
import { CertificateStore } from "../../src/agent/certificates/certificate-store.ts";
import { jsonFields } from "../../src/machinery/api/json/json-object.ts";
import { unprintableCharacters } from "../../src/machinery/api/text/unprintable-characters.ts";
import { shellWord } from "../../src/machinery/command-line/output/shell-word.ts";
import { writePublicFile } from "../../src/machinery/files/atomic-file.ts";
import { startMachineServer } from "../agent/machine-server.ts";
import { newPair } from "../agent/new-pair.ts";
import { serviceNames, severalCertificates } from "../agent/several-certificates.ts";
import { eventually } from "./eventually.ts";
import { ProgramProcess } from "./program-process.ts";
import { SignetProcess } from "./signet-process.ts";

/** An agent that has a certificate from before and no server, with what its flags or its file say. */
function scene(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), "signet-agent-"));
  const data = join(folder, "data");
  const config = join(folder, "agent.yaml");
  new CertificateStore(join(data, "pki"), "client").install(newPair(), { now: 0, wantedDigest: "a digest" });
  const processes: SignetProcess[] = [];
  context.after(async () => {
    await Promise.all(processes.map((one) => one.end("SIGKILL")));
    rmSync(folder, { recursive: true });
  });
  // In one step: the agent reads it when it has changed, and must not find half of it.
  const configure = (...lines: readonly string[]): void =>
    writePublicFile(
      config,
      [
        "apiVersion: signet.platform.io/v1",
        "kind: AgentConfiguration",
        'servers: ["https://127.0.0.1:1"]',
        "nodeName: n1",
        "dataDirectory: data",
        "listen: { port: 0 }",
        ...lines,
      ].join("\n"),
    );
  return {
    folder,
    config,
    configure,
    start(...args: readonly string[]): SignetProcess {
      const started = new SignetProcess("agent", "--config", config, ...args);
      processes.push(started);
      return started;
    },
  };
}

const onChange = (command: string): string => `onChange: ${JSON.stringify({ command, timeout: "5m" })}`;

describe("the process of an agent", () => {
  it("ends within seconds of SIGTERM although a hook runs, which runs again after the next start", async (context) => {
    const { folder, configure, start } = scene(context);
    const [begun, finished] = [join(folder, "begun"), join(folder, "finished")];
    configure(onChange(`echo begun >> ${shellWord(begun)}; sleep 100; touch ${shellWord(finished)}`));
    for (const runs of [1, 2]) {
      const agent = start();
      await eventually("the hook runs", () => readFileSync(begun, "utf8").split("\n").length === runs + 1);
      await agent.end("SIGTERM");
      assert.ok(!existsSync(finished));
    }
  });

  it("writes no character into its log that steers a terminal or hides text", async (context) => {
    const { folder, configure, start } = scene(context);
    configure();
    writeFileSync(join(folder, "data", "pki", "a\u202eb\u009b\u{e0041}-wanted"), "");
    const agent = start();
    const line = await agent.find(/^(.*the settings do not name this certificate.*)$/m);
    assert.equal(line.search(unprintableCharacters), -1);
    assert.equal(jsonFields(JSON.parse(line))["certificate"], "a\u202eb\u009b\u{e0041}");
  });

  it("begins its own lines of a log in a file after what hooks have left without a line break", async (context) => {
    const { folder, config, configure } = scene(context);
    const log = join(folder, "log");
    configure(onChange("printf half; exit 1"));
    const words = [process.execPath, signetProgram, "agent", "--config", config];
    const agent = new ProgramProcess(["/bin/sh", "-c", `exec "$@" 2> ${shellWord(log)}`, "sh", ...words]);
    context.after(() => agent.end("SIGKILL"));
    const read = (): string => readFileSync(log, "utf8");
    await eventually("the failure of the hook", () => existsSync(log) && read().includes("ended with code 1"));
    assert.match(read(), /^half\n\{/m);
    assert.ok(!read().includes("half{"));
  });

  it("that is to run once ends its hook with itself at a signal, and says how", async (context) => {
    const { folder, config, configure } = scene(context);
    const [begun, finished] = [join(folder, "begun"), join(folder, "finished")];
    configure(onChange(`echo $$ > ${shellWord(begun)}; sleep 100; touch ${shellWord(finished)}`));
    const agent = new SignetProcess("agent", "once", "--config", config);
    const shell = await eventually("the hook runs", () => Number(readFileSync(begun, "utf8")) || undefined);
    agent.signal("SIGTERM");
    assert.equal(await agent.ended(), 143);
    assert.match(agent.output, /^signet: ended by SIGTERM; the same command continues/m);
    assert.throws(() => process.kill(shell, 0), { code: "ESRCH" });
    assert.ok(!existsSync(finished));
  });

  it("that is to run once finishes a renewal that an earlier one was told to make", async (context) => {
    const machines = await startMachineServer();
    const folder = mkdtempSync(join(tmpdir(), "signet-once-"));
    context.after(async () => {
      await machines.stop();
      rmSync(folder, { recursive: true });
    });
    const { configuration, pair } = severalCertificates(folder, {
      servers: [machines.url],
      caFile: machines.caFile,
      token: machines.bootstrapToken,
    });
    const keys = (): string[] => serviceNames.map((name) => pair(name).keyPem);
    await SignetProcess.run("agent", "once", "--config", configuration);
    const before = keys();
    for (const name of serviceNames) new CertificateStore(join(folder, "data", "pki"), name).demandNewKey();
    await SignetProcess.run("agent", "once", "--config", configuration);
    assert.deepEqual(
      keys().filter((key) => before.includes(key)),
      [],
    );
  });

  it("ends within seconds of SIGTERM although it waits for a hook before it reads its settings again", async (context) => {
    const { folder, configure, start } = scene(context);
    const [begun, finished] = [join(folder, "begun"), join(folder, "finished")];
    configure(onChange(`touch ${shellWord(begun)}; sleep 100; touch ${shellWord(finished)}`));
    const agent = start();
    await eventually("the hook runs", () => existsSync(begun));
    agent.signal("SIGHUP");
    await agent.find(/(reading the settings again)/);
    await agent.end("SIGTERM");
    assert.ok(!existsSync(finished));
  });

  it("ends when it cannot start because another program has its port", async (context) => {
    const { configure, start } = scene(context);
    const taken = createServer().listen(0, "127.0.0.1");
    context.after(() => taken.close());
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    configure();
    const agent = start("--port", String(port));
    assert.equal(await agent.ended(), 1);
    assert.match(agent.output, /^signet: another program uses \S+; stop it, or choose another port/m);
  });

  it("ends at once without a bootstrap credential, but waits for a token file that is missing or empty", async (context) => {
    const { folder, configure, start } = scene(context);
    configure();
    const empty = join(folder, "empty");
    const advice = "give the agent one with --bootstrap-token-file, --client-certificate or --kubeconfig";
    for (const command of ["agent", "agent once"]) {
      await assert.rejects(
        SignetProcess.run(...command.split(" "), "--config", join(folder, "agent.yaml"), "--data-dir", empty),
        new RegExp(
          `signet: there is neither a client certificate of this node nor a bootstrap credential: ${advice}\n$`,
        ),
      );
    }
    const agent = start("--data-dir", empty, "--bootstrap-token-file", join(folder, "token"));
    await agent.find(/(no token: .+token is missing, holds no token, or cannot be read)/);
  });

  it("works and ends although a hook fills its output, which nobody reads", async (context) => {
    const { folder, config, configure } = scene(context);
    configure(onChange("yes"));
    const words = [process.execPath, signetProgram, "agent", "--config", config];
    // As a hook of an earlier run may have left it: the pipe is full from the start.
    const line = '{ yes | head -c 65536; exec "$@" 2>&1; } | sleep 1000';
    const shell = spawn("/bin/sh", ["-c", line, "sh", ...words], { stdio: "ignore", detached: true });
    context.after(() => process.kill(-(shell.pid ?? assert.fail()), "SIGKILL"));
    const says = (pattern: RegExp): Promise<boolean> =>
      assert.rejects(SignetProcess.run("agent", "status", "--config", config), pattern).then(() => true);
    await eventually("its status", () => says(/node n1\n/));
    const { pid } = JSON.parse(readFileSync(join(folder, "data/owner.json"), "utf8")) as { pid: number }; // the agent's
    process.kill(pid, "SIGTERM");
    await eventually("its end", () => says(/no agent runs/));
  });

  it("reads its settings again on SIGHUP and when the file has changed, and keeps the old ones when the new ones are wrong", async (context) => {
    const { folder, configure, start } = scene(context);
    configure();
    const agent = start();
    await agent.find(/(serves on port)/);
    configure(onChange(`touch ${shellWord(join(folder, "one"))}`));
    agent.signal("SIGHUP");
    await eventually("the new hook", () => existsSync(join(folder, "one")));
    configure("certificates: [{ name: web, signer: example.com/s, dnsNames: ['${nodes}'], keyTyp: x }]");
    agent.signal("SIGHUP");
    const fault = await agent.find(/the settings cannot be used, the old ones stay: (.*?)"}/);
    assert.match(fault, /certificates\[0\]\.dnsNames\[0\]: \$\{nodes\} is not known here/);
    assert.match(fault, /certificates\[0\]\.keyTyp: unknown field/);
    configure(onChange(`touch ${shellWord(join(folder, "two"))}`));
    await eventually("the changed file is noticed", () => existsSync(join(folder, "two")));
    await agent.end("SIGTERM");
  });

  for (const changed of ["kubeconfig", "ca.crt"]) {
    it(`reads its settings again when ${changed} has changed, a kubeconfig or a file that it names`, async (context) => {
      const { folder, config, configure, start } = scene(context);
      const [kubeconfig, authority] = [join(folder, "kubeconfig"), join(folder, "ca.crt")];
      writePublicFile(authority, newPair().certificatePem);
      writePublicFile(
        kubeconfig,
        JSON.stringify({
          clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:1", "certificate-authority": "ca.crt" } }],
          users: [{ name: "u", user: { token: "abcdef.0123456789abcdef" } }],
          contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
          "current-context": "x",
        }),
      );
      configure("kubeconfig: kubeconfig");
      const agent = start();
      await agent.find(/(serves on port)/);
      appendFileSync(join(folder, changed), "\n");
      const why = await agent.find(/reading the settings again: (.*?)"}/);
      assert.equal(why, `${config} or ${kubeconfig} or ${authority} has changed`);
      await agent.end("SIGTERM");
    });
  }

  it("still renews what it was told to after it has read its settings again", async (context) => {
    const { folder, configure, start } = scene(context);
    configure();
    const agent = start();
    await agent.find(/(serves on port)/);
    agent.signal("SIGUSR2");
    await agent.find(/(renewing all certificates)/);
    configure("certificates: [{ name: web, signer: example.com/s, dnsNames: [a] }]");
    agent.signal("SIGHUP");
    const requested = async (): Promise<Record<string, boolean>> => {
      const { certificates } = await readAgentStatus(join(folder, "data"));
      return Object.fromEntries(certificates.map((one) => [one.name, one.isRenewalRequested]));
    };
    await eventually("the new settings", async () => "web" in (await requested()));
    assert.deepEqual(await requested(), { client: true, serving: true, web: false });
    await agent.end("SIGTERM");
  });

  it("shares its data directory with no other agent, and shows its status to its user's commands", async (context) => {
    const { configure, config, start } = scene(context);
    configure();
    const agent = start();
    await agent.find(/(serves on port)/);
    await assert.rejects(SignetProcess.run("agent", "--config", config), /is in use by the process \d+/);
    await assert.rejects(SignetProcess.run("agent", "status", "--config", config), /node n1\nCERTIFICATE .*\nclient /);
    await assert.rejects(
      SignetProcess.run("agent", "renew", "web", "--config", config),
      /no certificate of this name; there are client, serving/,
    );
    assert.match(await SignetProcess.run("agent", "renew", "client", "--config", config), /renews client/);
    await assert.rejects(
      SignetProcess.run("agent", "check", "--config", config),
      /ok {2}the settings\n[^]*FAULT {2}the server https:\/\/127.0.0.1:1: nothing listens there; start it with signet serve/,
    );
    await agent.end("SIGTERM");
    await assert.rejects(SignetProcess.run("agent", "status", "--config", config), /no agent runs with the data dir/);
  });
});
