import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { examineServer } from "../../../src/server/doctor/examine-server.ts";
import type { Finding } from "../../../src/server/doctor/finding.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";

/**
 * What `signet serve` of commit 1af55e4, the first one that ran, left after `create namespace team`, a service account
 * `builder`, a Secret `password`, and a ConfigMap `settings` (colour green) that was deleted and created again (blue).
 */
const firstVersion = join(import.meta.dirname, "data-directory-of-the-first-version.tgz");
const team = "/api/v1/namespaces/team";

describe("a data directory of the first version", () => {
  const folder = mkdtempSync(join(tmpdir(), "signet-upgrade-"));
  const dataDirectory = join(folder, "data");
  let server: TestServer;
  let api: InProcess;
  let findingsBefore: readonly Finding[];

  before(async () => {
    mkdirSync(dataDirectory, { mode: 0o700 });
    execFileSync("tar", ["xzf", firstVersion, "-C", dataDirectory, "--no-same-owner", "--mode=u=rwX,go="]);
    const config = parseServerConfig({ commandLine: { "data-dir": dataDirectory }, file: {} });
    findingsBefore = await examineServer(config, Date.now());
    server = await startTestServer({ storage: "lmdb", dataDirectory });
    api = new InProcess(server);
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it("is told how its Secrets get encrypted before it has a key", () => {
    const encryption = findingsBefore.find(({ subject }) => subject === "encryption");
    assert.deepEqual(encryption, {
      state: "warning",
      subject: "encryption",
      found: "Secrets are not encrypted in the store",
      advice: "start the server, which makes encryption.key; then: signet encryption rewrite",
    });
  });

  it("keeps its objects", async () => {
    const settings = await api.json(`${team}/configmaps/settings`);
    assert.deepEqual(settings.data, { colour: "blue" });
    assert.deepEqual((await api.json(`${team}/secrets/password`)).data, { word: "b3Blbi1zZXNhbWU=" });
    assert.equal((await api.json(`${team}/serviceaccounts/builder`)).metadata.name, "builder");
  });

  it("continues its revisions, and lets watches resume from earlier ones", async () => {
    const created = await api.json(`${team}/configmaps`, { method: "POST", body: { metadata: { name: "new" } } });
    assert.ok(Number(created.metadata.resourceVersion) > 57);
    // The revision at which the first settings had just been created.
    const watch = await api.watch(`${team}/configmaps?watch=true&resourceVersion=57`);
    const events = (await watch.until(3)).events.map(({ type, object }) => `${type} ${object.metadata.name}`);
    watch.stop();
    assert.deepEqual(events, ["DELETED settings", "ADDED settings", "ADDED new"]);
  });

  it("keeps its keys: the signing key of its tokens, and its CA", async () => {
    const { keys } = await api.json<{ keys: { kid: string }[] }>("/openid/v1/jwks");
    assert.deepEqual(
      keys.map(({ kid }) => kid),
      ["ii_JyrzIEAZxubZkUgThh5xrmhxITzAjDkDCOXqM4Q8"],
    );
  });
});
