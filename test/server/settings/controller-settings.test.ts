import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { platformNames as names } from "../../../src/machinery/api/names.ts";
import { UsageError } from "../../../src/machinery/command-line/settings/flag.ts";
import { controllerList } from "../../../src/server/controllers/controller-list.ts";
import { controllerNames } from "../../../src/server/settings/controller-settings.ts";
import { parseServerConfig } from "../../../src/server/settings/server-config.ts";
import { revocationListPublisher } from "../../../src/features/certificates/status/revocation-list-publisher.ts";
import { runningSigners } from "../../../src/features/certificates/signers/running-signers.ts";
import { conditionOf, newAuthority, CertificateScene } from "../../features/certificates/certificate-loop-scene.ts";
import { startTestServer } from "../../test-server.ts";
import { signerNames } from "../../../src/features/certificates/signer-names.ts";

const settings = (value: unknown) =>
  parseServerConfig({
    commandLine: {},
    file: { controllers: value, "revocation-url": "http://pki.example.com" },
  }).controllers;
const enabled = (value: unknown): string[] => [...settings(value).enabled];
const everyOneBut = (...off: readonly string[]): string[] => controllerNames.filter((name) => !off.includes(name));

describe("--controllers", () => {
  it("names only existing controllers", () => {
    const list = controllerList({
      settings: settings("*"),
      names,
      definitions: [],
      caCertificates: () => "PEM",
      issueSecretToken: () => "",
      signers: runningSigners({
        names,
        authorityFor: () => undefined,
        configured: () => [],
        maximumLifetimeSeconds: 3600,
        revocation: undefined,
      }),
      policy: () => ({ rules: [] }),
      listPublisher: revocationListPublisher({
        settings: { url: "http://pki.example.com", listLifetimeMilliseconds: 3_600_000, isSharded: false },
        authorities: () => [],
        configuredSigners: () => [],
      }),
      server: () => ({ names: { dnsNames: [], ipAddresses: [] }, certificates: [] }),
      serverAnchors: () => [],
      isRetired: () => false,
    });
    assert.deepEqual(list.map(({ name }) => name).toSorted(), controllerNames.toSorted());
  });

  it("has kube-controller-manager's grammar", () => {
    const wanted: readonly [unknown, readonly string[]][] = [
      [undefined, controllerNames],
      ["*", controllerNames],
      ["*,-csrsigning", everyOneBut("csrsigning")],
      ["-csrsigning,*", everyOneBut("csrsigning")],
      [["*", "-csrsigning", "-csrapproving"], everyOneBut("csrsigning", "csrapproving")],
      ["csrsigning,csrcleaner", ["csrcleaner", "csrsigning"]],
      ["csrsigning,-csrsigning", ["csrsigning"]],
      ["*,-csrsigning,csrsigning", everyOneBut("csrsigning")],
      ["-csrsigning", []],
    ];
    for (const [value, names] of wanted) assert.deepEqual(enabled(value), names, JSON.stringify(value));
  });

  it("accepts its earlier values, and a word for no controllers", () => {
    for (const none of [false, "false", "-*"]) assert.deepEqual(enabled(none), []);
    for (const all of [true, "true"]) assert.deepEqual(enabled(all), controllerNames);
  });

  it("refuses unknown controllers, in one line that names all existing ones", async () => {
    for (const value of ["csr-signing", "*,-nobody", "--csrsigning", "*,-*", "*,false", " *", "-", "__proto__"]) {
      assert.throws(
        () => enabled(value),
        (error) =>
          error instanceof UsageError &&
          /^--controllers: there is no controller ".*": use one of \*, .*csrsigning.*$/.test(error.message),
        value,
      );
    }
    await assert.rejects(startTestServer({ settings: { controllers: "*,-nobody" } }), {
      name: "UsageError",
      message: /^--controllers: there is no controller "nobody"/,
    });
  });

  it("lets another program sign for a well-known signer when csrsigning is disabled", async () => {
    const server = await startTestServer({ settings: { controllers: ["*", "-csrsigning"] } });
    const scene = new CertificateScene(server.client);
    await scene.request({ name: "theirs", signerName: signerNames.apiserverClient(names), commonName: "alice" });
    await scene.approve("theirs");
    // The other controllers run: the joining machine's request is approved after the first one could have been
    // signed.
    await scene.request({
      name: "node",
      signerName: signerNames.apiserverClientNodeAgent(names),
      commonName: "system:node:n1",
      organizations: ["system:nodes"],
    });
    await scene.settled("node", (request) => conditionOf(request, "Approved") !== undefined);
    assert.equal((await scene.requests.get("theirs")).status.certificate, undefined);
    await scene.signElsewhere("theirs", newAuthority("somebody else"));
    const [issued] = await scene.issued("theirs");
    assert.equal(issued?.issuer.commonName, "somebody else");
    assert.equal((await scene.recordOf("theirs")).spec.issuer, "CN=somebody else");
    assert.equal((await scene.requests.get("node")).status.certificate, undefined);
  });
});
