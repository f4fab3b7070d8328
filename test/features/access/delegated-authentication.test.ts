import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { delegatedAuthenticationData } from "../../../src/features/access/delegated-authentication-data.ts";
import { roleResource } from "../../../src/features/access/resources.ts";
import { configMapResource } from "../../../src/features/core/resources.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { encodePem } from "../../../src/pki/pem.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { waitForObject } from "../../wait-for-object.ts";
import { newAuthority, startOf2026 } from "./certificate-scene.ts";

const clients = newAuthority("clients");
const others = newAuthority("others", startOf2026 + 3_600_000);
const proxies = newAuthority("proxies");
const pemOf = ({ certificate }: typeof clients): string => encodePem("CERTIFICATE", certificate.der);
const name = "extension-apiserver-authentication";

describe("the ConfigMap for delegated authentication", () => {
  let server: TestServer;
  const folder = mkdtempSync(join(tmpdir(), "signet-delegation-"));
  before(async () => {
    writeFileSync(join(folder, "clients.crt"), pemOf(clients));
    writeFileSync(join(folder, "proxies.crt"), pemOf(proxies));
    server = await startTestServer({
      settings: {
        controllers: false,
        "client-ca-file": join(folder, "clients.crt"),
        "requestheader-client-ca-file": join(folder, "proxies.crt"),
        "requestheader-allowed-names": ["front-proxy"],
      },
    });
  });
  after(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });
  const configMaps = () => server.client.resource(configMapResource(platformNames), "platform-system");

  it("lists the CAs that the server trusts, in upstream's form", async () => {
    const { data = {} } = await configMaps().get(name);
    assert.ok(data["client-ca-file"]?.includes(pemOf(clients)));
    const { "client-ca-file": _bundle, ...rest } = data;
    assert.deepEqual(rest, {
      "requestheader-client-ca-file": pemOf(proxies),
      "requestheader-allowed-names": '["front-proxy"]',
      "requestheader-username-headers": '["X-Remote-User"]',
      "requestheader-uid-headers": '["X-Remote-Uid"]',
      "requestheader-group-headers": '["X-Remote-Group"]',
      "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    });
  });

  it("is restored when a user changes or deletes it", async () => {
    const type = configMapResource(platformNames);
    const { data, ...before } = await configMaps().get(name);
    await configMaps().update({ ...before, data: { "client-ca-file": pemOf(others) } });
    const where = { namespace: "platform-system", name };
    const isAsBefore = (found: { data?: object } | undefined): boolean =>
      JSON.stringify(found?.data) === JSON.stringify(data);
    await waitForObject(server.client, type, where, isAsBefore);
    await configMaps().delete(name);
    await waitForObject(server.client, type, where, isAsBefore);
  });

  it("is readable by users with the reader's role, which grants nothing else", async () => {
    const roles = server.client.resource(roleResource(platformNames), "platform-system");
    const { rules } = await roles.get("extension-apiserver-authentication-reader");
    assert.deepEqual(rules, [
      { verbs: ["get", "list", "watch"], apiGroups: [""], resources: ["configmaps"], resourceNames: [name] },
    ]);
  });
});

describe("another program that changes the ConfigMap after each repair", () => {
  it("does not make the server write for ever", async () => {
    const server = await startTestServer({ settings: { controllers: false } });
    const configMaps = server.client.resource(configMapResource(platformNames), "platform-system");
    const { data } = await configMaps.get(name);
    const isWhole = (found: { data?: object } | undefined): boolean =>
      JSON.stringify(found?.data) === JSON.stringify(data);
    const change = async (): Promise<void> => {
      await configMaps.update({ ...(await configMaps.get(name)), data: { "client-ca-file": pemOf(others) } });
    };
    /** Each get is a turn for the server, which works in the same process. */
    const isRepaired = async (): Promise<boolean> => {
      for (let turn = 0; turn < 50; turn += 1) if (isWhole(await configMaps.get(name))) return true;
      return false;
    };
    await change();
    const where = { namespace: "platform-system", name };
    await waitForObject(server.client, configMapResource(platformNames), where, isWhole);
    const repairs: boolean[] = [];
    while (repairs.length < 12 && repairs.at(-1) !== false) {
      await change();
      repairs.push(await isRepaired());
    }
    await server.stop();
    assert.equal(repairs.at(-1), false);
  });
});

describe("the published data for delegated authentication", () => {
  const own = { clientAuthorities: [clients.certificate], frontProxy: undefined };

  it("has nothing about front proxies when no front proxy is trusted", () => {
    assert.deepEqual(delegatedAuthenticationData(own), { "client-ca-file": pemOf(clients) });
  });

  it("keeps the CAs that replicas have published, without expired certificates and other data", () => {
    const data = { "client-ca-file": pemOf(others) + pemOf(clients) };
    const both = delegatedAuthenticationData(own, { data, now: startOf2026 });
    assert.equal(both["client-ca-file"], pemOf(others) + pemOf(clients));
    const later = delegatedAuthenticationData(own, { data, now: others.certificate.notAfter });
    assert.equal(later["client-ca-file"], pemOf(clients));
    assert.deepEqual(delegatedAuthenticationData(own, { data: {}, now: clients.certificate.notAfter }), {});
    const garbage = { "client-ca-file": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" };
    assert.deepEqual(delegatedAuthenticationData(own, { data: garbage, now: startOf2026 }), {
      "client-ca-file": pemOf(clients),
    });
  });
});
