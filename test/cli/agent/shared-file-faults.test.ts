import assert from "node:assert/strict";
import { mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parseAgentConfiguration } from "../../../src/cli/agent/agent-configuration.ts";
import type { AgentCommandLine } from "../../../src/cli/agent/agent-flags.ts";
import { parseTrustBundleFile } from "../../../src/cli/agent/parse-agent-flags.ts";
import { sharedFileFaults } from "../../../src/cli/agent/shared-file-faults.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const newFolder = (): string => realpathSync(temporaryFolder());

interface Question {
  readonly folder: string;
  readonly files: readonly object[];
  readonly trustBundles?: readonly string[];
  readonly flags?: Partial<AgentCommandLine>;
}

/** What is wrong with flags beside the files of one certificate, by the names in `folder`. */
function faultsOf({ folder, files, trustBundles = [], flags = {} }: Question): string[] {
  const certificate = { name: "web", signer: "a.io/b", dnsNames: ["a"], files };
  const document = { apiVersion: "signet.platform.io/v1", kind: "AgentConfiguration", certificates: [certificate] };
  const configuration = parseAgentConfiguration(JSON.stringify(document), folder);
  const given = trustBundles.map((file) => parseTrustBundleFile(`b:${join(folder, file)}`));
  const faults = sharedFileFaults({ flags, configuration, trustBundlesOfFlags: given });
  return faults.map((fault) => fault.replaceAll(`${folder}/`, ""));
}

describe("the agent writes no file", () => {
  it("that it reads: its configuration, a password, or what introduces it, also where a link leads to it", () => {
    const folder = newFolder();
    writeFileSync(join(folder, "real.yaml"), "");
    symlinkSync("real.yaml", join(folder, "agent.yaml"));
    const files = [{ pem: "agent.yaml" }, { pem: "real.yaml" }];
    assert.deepEqual(faultsOf({ folder, files, flags: { config: join(folder, "agent.yaml") } }), [
      "certificates[0].files[0]: agent.yaml is the file of the configuration",
      "certificates[0].files[1]: real.yaml is the file of the configuration",
    ]);
    const stores = [{ pkcs12: "store", passwordFile: "password" }];
    assert.deepEqual(faultsOf({ folder, files: stores, trustBundles: ["password"] }), [
      "--trust-bundle: password is the file of the password of certificates[0].files[0]",
    ]);
    const flags = { kubeconfig: join(folder, "kubeconfig"), bootstrapTokenFile: join(folder, "token") };
    assert.deepEqual(faultsOf({ folder, files: [], trustBundles: ["kubeconfig", "token"], flags }), [
      "--trust-bundle: kubeconfig is the file of the kubeconfig",
      "--trust-bundle: token is the file of the bootstrap token",
    ]);
  });

  it("that it keeps in its data directory", () => {
    const folder = newFolder();
    const files = [{ pem: "data/pki/web-current.pem" }, { pem: "data/web.pem" }, { folder: "data/pki" }];
    const trustBundles = ["data/hooks.json", "data/owner.lock", "data/ca.pem"];
    assert.deepEqual(faultsOf({ folder, files, trustBundles, flags: { dataDir: join(folder, "data") } }), [
      "--trust-bundle: data/hooks.json is the file of the agent, in its data directory",
      "--trust-bundle: data/owner.lock is the file of the agent, in its data directory",
      "certificates[0].files[0]: data/pki/web-current.pem is the file of the agent, in its data directory",
      ...["", "/tls.key", "/tls.crt"].map(
        (name) => `certificates[0].files[2]: data/pki${name} is the file of the agent, in its data directory`,
      ),
    ]);
  });

  it("but writes into the folders beside its data directory", () => {
    const folder = newFolder();
    const files = [{ pem: "more/pki" }, { pem: "data2/hooks.json" }];
    assert.deepEqual(faultsOf({ folder, files, flags: { dataDir: join(folder, "data") } }), []);
  });

  it("for two settings, also where links lead to the same folder", () => {
    const folder = newFolder();
    mkdirSync(join(folder, "real"));
    symlinkSync("real", join(folder, "link"));
    const files = [{ pem: "real/web.pem" }, { folder: "real/tls" }, { folder: "link/tls", key: "other.key" }];
    const trustBundles = ["link/new/ca.pem", "real/new/ca.pem", "link/web.pem"];
    assert.deepEqual(faultsOf({ folder, files: files.slice(0, 2), trustBundles }), [
      "--trust-bundle: real/new/ca.pem is the file of --trust-bundle",
      "certificates[0].files[0]: real/web.pem is the file of --trust-bundle",
    ]);
    assert.throws(() => faultsOf({ folder, files }), /real\/tls is the file of certificates\[0\]\.files\[1\]/);
  });

  it("except that a trust bundle may keep the server's CA up to date", () => {
    const folder = newFolder();
    const flags = { caFile: join(folder, "ca.pem") };
    assert.deepEqual(faultsOf({ folder, files: [], trustBundles: ["ca.pem"], flags }), []);
    assert.deepEqual(faultsOf({ folder, files: [{ pem: "ca.pem" }], flags }), [
      "certificates[0].files[0]: ca.pem is the file of the server's CA",
    ]);
  });
});
