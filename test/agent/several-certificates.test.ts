import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { agentFaults } from "../../src/agent/agent-status.ts";
import type { AgentSettings } from "../../src/agent/agent-settings.ts";
import { startAgent } from "../../src/agent/start-agent.ts";
import type { RunningAgent, StartAgentOptions } from "../../src/agent/start-agent.ts";
import { agent as agentCommand } from "../../src/cli/agent/agent-command.ts";
import { platformNames as names } from "../../src/machinery/api/names.ts";
import { serialNumberHex } from "../../src/pki/certificates/certificate.ts";
import { eventually } from "../end-to-end/eventually.ts";
import { resourceReferences } from "../resource-references.ts";
import { startMachineServer } from "./machine-server.ts";
import type { MachineServer } from "./machine-server.ts";
import { shortenedSleep } from "./shortened-sleep.ts";
import { serviceNames, severalCertificates } from "./several-certificates.ts";
import { logTo } from "./log-to.ts";
import type { SeveralCertificates } from "./several-certificates.ts";

const references = resourceReferences(names);
const mount = (...words: string[]): boolean => spawnSync("mount", words).status === 0;

async function settingsOf(configuration: string): Promise<AgentSettings> {
  let settings: AgentSettings | undefined;
  const command = agentCommand("signet agent", async ({ load }) => void (settings = load()));
  await command.parseAsync(["--config", configuration], { from: "user" });
  return settings ?? assert.fail();
}

describe("an agent with four services", () => {
  let folder = "";
  let disk = "";
  let canMount = false;
  let machines: MachineServer;
  let services: SeveralCertificates;
  let agent: RunningAgent | undefined;
  const log: string[] = [];
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "signet-several-"));
    disk = join(folder, "disk");
    mkdirSync(disk);
    canMount = mount("-t", "tmpfs", "-o", "size=256k,mode=0755", "tmpfs", disk);
    machines = await startMachineServer();
    services = severalCertificates(folder, {
      servers: [machines.url],
      caFile: machines.caFile,
      token: machines.bootstrapToken,
      outputs: disk,
    });
  });
  after(async () => {
    await agent?.stop();
    if (canMount) spawnSync("umount", ["-l", disk]);
    await machines.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(options: Partial<StartAgentOptions> = {}): Promise<void> {
    await agent?.stop();
    const write = (fields: Record<string, unknown>, message: string): void =>
      void log.push(`${message} ${JSON.stringify(fields)}`);
    agent = await startAgent(await settingsOf(services.configuration), {
      log: logTo(write),
      version: "test",
      sleep: shortenedSleep(300), // a minute is a fifth of a second
      ...options,
    });
  }
  const status = () => agent?.status() ?? assert.fail();
  const serials = (): string[] => serviceNames.map((name) => serialNumberHex(services.pair(name).certificate));
  const isInOrder = (): boolean =>
    status().certificates.every(({ state }) => state === "current") &&
    agentFaults(status()).length === 0 &&
    !status().hasPendingHooks;
  const hooksHaveSeenAll = (): void => {
    for (const name of serviceNames) assert.equal(services.lastReloaded(name), services.digest(name), name);
  };

  it("goes by the server's time when its own clock is wrong: one request for each certificate", async () => {
    for (const days of [400, -400]) {
      const requests = machines.admin.resource(references.certificateSigningRequests);
      const before = (await requests.list()).items.length;
      await start({ clock: { now: () => Date.now() + days * 86_400_000 } });
      if (days < 0) agent?.renewNow();
      await eventually("everything is in order", () => isInOrder());
      await eventually("six requests", async () => (await requests.list()).items.length >= before + 6);
      await eventually("everything is in order again", () => isInOrder());
      hooksHaveSeenAll();
      assert.equal((await requests.list()).items.length, before + 6);
    }
  });

  it("leaves every file unchanged on a full or read-only disk, reports which, and continues when it can", async (context) => {
    if (!canMount) return context.skip("tmpfs can't be mounted");
    await start();
    await eventually("everything is in order", () => isInOrder());
    const faults = [
      {
        begin: () => {
          try {
            for (let file = 0; ; file++) writeFileSync(join(disk, `filler-${file}`), Buffer.alloc(4096));
          } catch {
            // It is full now.
          }
        },
        end: () => spawnSync("/bin/sh", ["-c", "rm filler-*"], { cwd: disk }),
        pattern: /no space is left/,
      },
      {
        begin: () => assert.ok(mount("-o", "remount,ro", disk)),
        end: () => assert.ok(mount("-o", "remount,rw", disk)),
        pattern: /read-only/,
      },
    ];
    for (const { begin, end, pattern } of faults) {
      const [before, digests] = [serials(), serviceNames.map(services.digest)];
      begin();
      agent?.renewNow();
      await eventually("each service's fault", () => agentFaults(status()).length === serviceNames.length);
      for (const [index, fault] of agentFaults(status()).entries()) {
        assert.match(fault, pattern);
        assert.ok(fault.includes(services.file(serviceNames[index] ?? "web")), fault);
      }
      assert.deepEqual([serials(), serviceNames.map(services.digest)], [before, digests]);
      end();
      await eventually("everything is in order", () => isInOrder());
      const now = serials();
      assert.ok(before.every((serial, index) => serial !== now[index]));
      hooksHaveSeenAll();
    }
  });
});
