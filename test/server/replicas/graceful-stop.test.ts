import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import pino from "pino";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { startServer } from "../../../src/server/start-server.ts";
import type { RunningServer } from "../../../src/server/start-server.ts";
import { sharedFiles } from "../../faults/replica.ts";
import { skipsEtcd, startEtcd } from "../../machinery/storage/etcd/etcd-process.ts";
import type { EtcdCluster } from "../../machinery/storage/etcd/etcd-process.ts";
import { loadThroughStop } from "./load-through-stop.ts";

// Two workers on one store are stopped in the same way in test/reliability/workers.test.ts.
describe("two replicas on etcd", { skip: skipsEtcd }, () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-stop-"));
  const token = "load";
  let etcd: EtcdCluster;
  let first: RunningServer;
  let second: RunningServer;

  const start = (name: string): Promise<RunningServer> => {
    const settings = {
      "data-dir": join(folder, name),
      "secure-port": "0",
      "etcd-servers": etcd.urls.join(","),
      "token-auth-file": join(folder, "tokens.csv"),
    };
    return startServer(parseServerConfig({ commandLine: settings, file: {} }), { log: pino({ level: "silent" }) });
  };
  before(async () => {
    writeFileSync(join(folder, "tokens.csv"), `${token},load,load,"system:masters"\n`, { mode: 0o600 });
    etcd = await startEtcd();
    first = await start("first");
    mkdirSync(join(folder, "second"), { mode: 0o700 });
    for (const file of sharedFiles) copyFileSync(join(folder, "first", file), join(folder, "second", file));
    second = await start("second");
  });
  after(async () => {
    await second.stop();
    await etcd.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("fail no request when one of them is stopped under load: creates and reads, HTTP/1.1 and HTTP/2", async () => {
    let serving = first;
    const written = (await second.client.text("/metrics")).match(/^apiserver_request_total.*"POST".*configmaps/m);
    assert.equal(written, null);
    await loadThroughStop({
      addressOf: () => serving,
      token,
      stop: () => {
        serving = second;
        return first.stop({ graceMilliseconds: 10_000 });
      },
    });
    assert.match(
      await second.client.text("/metrics"),
      /^apiserver_request_total\{verb="POST",.*resource="configmaps"/m,
    );
  });
});
