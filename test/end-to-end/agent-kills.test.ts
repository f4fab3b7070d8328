import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { serialNumberHex } from "../../src/pki/certificates/certificate.ts";
import { startMachineServer } from "../agent/machine-server.ts";
import type { MachineServer } from "../agent/machine-server.ts";
import { serviceNames, severalCertificates } from "../agent/several-certificates.ts";
import type { SeveralCertificates } from "../agent/several-certificates.ts";
import { eventually } from "./eventually.ts";
import { SignetProcess } from "./signet-process.ts";

/** A short run is part of the tests; `npm run test:kills` makes a long one. */
const kills = Number(process.env["SIGNET_KILLS"] ?? 5);
/** All are looked at after so many kills, with an agent that lives. */
const killsBetweenChecks = 10;
/** A renewal of all six certificates logs about so many lines: the kills are spread over them. */
const linesOfRenewal = 24;

describe("an agent with four services", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-kills-"));
  let machines: MachineServer;
  let services: SeveralCertificates;
  let agent: SignetProcess | undefined;
  before(async () => {
    machines = await startMachineServer();
    services = severalCertificates(folder, {
      servers: [machines.url],
      caFile: machines.caFile,
      token: machines.bootstrapToken,
    });
  });
  after(async () => {
    await agent?.end("SIGKILL");
    await machines.stop();
    rmSync(folder, { recursive: true });
  });

  const lines = (): number => agent?.output.split("\n").length ?? 0;
  const serials = (): string[] => serviceNames.map((name) => serialNumberHex(services.pair(name).certificate));

  it("never has mismatched files and loses no hook, at whatever points it is killed", async () => {
    let installed = 0;
    for (let kill = 1; kill <= kills; kill++) {
      agent = new SignetProcess("agent", "--config", services.configuration);
      await agent.find(/(serves on port)/);
      // The first lives until everything is there; each later one renews all, and is killed on the way.
      if (kill === 1) {
        await eventually("all hooks have run", () => serviceNames.every(isReloaded));
      }
      const before = kill === 1 ? [] : serials();
      agent.signal("SIGUSR2");
      const wanted = lines() + 1 + ((kill * 7) % linesOfRenewal);
      await eventually("the agent is on its way", () => lines() >= wanted || isQuiet()).catch((error: unknown) => {
        throw new Error(`${String(error)}\n${agent?.output}`);
      });
      for (let turns = (kill * 13) % 60; turns > 0; turns--) await turn();
      await agent.end("SIGKILL");
      const now = serials(); // throws when files do not fit
      installed += now.filter((serial, index) => serial !== before[index]).length;
      if (kill % killsBetweenChecks === 0 || kill === kills) await everyHookRuns();
    }
    assert.ok(installed > 0, "no kill met a renewal");
  });

  const isReloaded = (name: (typeof serviceNames)[number]): boolean =>
    services.lastReloaded(name) === services.digest(name);
  /** A renewal may log fewer lines, after a kill that left nothing to do. */
  const isQuiet = (): boolean => (agent?.output.match(/"msg":"the hook has finished"/g)?.length ?? 0) >= 4;

  async function everyHookRuns(): Promise<void> {
    agent = new SignetProcess("agent", "--config", services.configuration);
    await agent.find(/(serves on port)/);
    const status = (): Promise<string> => SignetProcess.run("agent", "status", "--config", services.configuration);
    // A certificate that was requested before the kill may come after the status.
    await eventually("everything is in order, and each hook has seen the last files", async () => {
      const text = await status();
      const isCurrent = !/unknown|due|missing|runs|waits/.test(text) && text.match(/ current /g)?.length === 6;
      return isCurrent && serviceNames.every(isReloaded);
    });
    await agent.end("SIGTERM");
    assert.equal(await agent.ended(), 0);
  }
});
