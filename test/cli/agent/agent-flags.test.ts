import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { AgentSettings } from "../../../src/agent/agent-settings.ts";
import { agent } from "../../../src/cli/agent/agent-command.ts";
import { serverAccess } from "../../../src/cli/agent/agent-server-access.ts";
import { parseTrustBundleFile } from "../../../src/cli/agent/parse-agent-flags.ts";
import {
  bootstrapTokenOf,
  newBootstrapToken,
  tokenIdOf,
} from "../../../src/features/nodes/bootstrap/bootstrap-token-secret.ts";
import { UsageError } from "../../../src/machinery/command-line/settings/flag.ts";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { bootstrapTokens } from "../../../src/features/nodes/bootstrap/bootstrap-tokens.ts";
import { newPair } from "../../agent/new-pair.ts";
import { temporaryFolder } from "../../temporary-folder.ts";

const server = "https://server.example:6443";

async function settingsOf(...flags: readonly string[]): Promise<AgentSettings> {
  let settings: AgentSettings | undefined;
  const command = agent("signet agent", async ({ load }) => void (settings = load())).exitOverride();
  const words = flags.includes("--server") || flags.includes("--config") ? flags : ["--server", server, ...flags];
  await command.parseAsync([...words], { from: "user" });
  return settings ?? assert.fail();
}

const refused = (...flags: readonly string[]): Promise<void> =>
  assert.rejects(
    settingsOf(...flags),
    (error) => error instanceof UsageError && error.message.includes(flags[0] ?? ""),
  );

describe("the flags of an agent", () => {
  it("become its settings, with names and addresses in canonical form", async () => {
    const { caCertificates, bootstrap, ...settings } = await settingsOf(
      ...["--node-name", "n1", "--data-dir", "d", "--port", "0", "--node-ip", "FE80:0::1", "--node-ip", "10.0.0.1"],
      ...[
        "--dns-name",
        "N1.Example",
        "--certificate-lifetime",
        "1h30m",
        "--lease-duration",
        "2m",
        "--on-change",
        "true",
        "--bootstrap-token",
        "t",
      ],
    );
    assert.equal(caCertificates(), undefined);
    assert.equal(bootstrap.type === "token" && bootstrap.token(), "t");
    assert.deepEqual(settings, {
      servers: [server],
      followedFiles: [],
      nodeName: "n1",
      dataDirectory: "d",
      listenAddress: "127.0.0.1",
      port: 0,
      nodeIpAddresses: ["fe80::1", "10.0.0.1"],
      dnsNames: ["n1.example"],
      trustBundles: [],
      certificates: [],
      hook: { command: "true", check: undefined, timeoutMilliseconds: 60_000 },
      certificateLifetimeSeconds: 5400,
      leaseDurationSeconds: 120,
      log: { level: "info", format: undefined },
    });
  });

  it("name the files after whose change all settings are read again", async () => {
    const folder = temporaryFolder();
    const [certificate, key] = [join(folder, "tls.crt"), join(folder, "tls.key")];
    const { certificatePem, keyPem } = newPair();
    writeFileSync(certificate, certificatePem);
    writeFileSync(key, keyPem, { mode: 0o600 });
    const { followedFiles } = await settingsOf("--client-certificate", certificate, "--client-key", key);
    assert.deepEqual(followedFiles, [certificate, key]);
  });

  it("come from environment variables where the command line does not give them", async (context) => {
    const variables = {
      SIGNET_SERVER: "https://a.example,https://b.example",
      SIGNET_NODE_NAME: "from-environment",
      SIGNET_DATA_DIR: "d",
      SIGNET_LOG_FORMAT: "json",
      SIGNET_LISTEN_ADDRESS: "",
      // What a cluster sets in its Pods for a Service named signet.
      SIGNET_PORT: "tcp://10.0.0.1:6443",
      // Hooks would see it.
      SIGNET_BOOTSTRAP_TOKEN: "abcdef.0123456789abcdef",
    };
    Object.assign(process.env, variables);
    context.after(() => {
      for (const name of Object.keys(variables)) delete process.env[name];
    });
    const command = async (...words: readonly string[]): Promise<AgentSettings> => {
      let settings: AgentSettings | undefined;
      await agent("signet agent", async ({ load }) => void (settings = load()))
        .exitOverride()
        .parseAsync(words, { from: "user" });
      return settings ?? assert.fail();
    };
    const settings = await command("--data-dir", "flag");
    assert.deepEqual(settings.servers, ["https://a.example", "https://b.example"]);
    assert.deepEqual(
      [settings.nodeName, settings.dataDirectory, settings.listenAddress, settings.port, settings.bootstrap.type],
      ["from-environment", "flag", "127.0.0.1", 10250, "none"],
    );
    assert.deepEqual(settings.log, { level: "info", format: "json" });
  });

  it("are refused with one line when they are invalid", async () => {
    await refused("--node-name", "Not A Name");
    await refused("--port", "65536");
    await refused("--node-ip", "10.0.0.256");
    await refused("--dns-name", "*.example");
    await refused("--certificate-lifetime", "9m");
    await refused("--certificate-lifetime", "24856d");
    await assert.rejects(settingsOf("--certificate-lifetime", "99999999999h"), /"99999999999h" is too long/);
    await refused("--trust-bundle", "one:d/ca.pem", "--trust-bundle", "signer=s:./d/ca.pem");
    for (const duration of ["9s", "10.5s", "25h", "40"]) await refused("--lease-duration", duration);
    await refused("--trust-bundle", "anchors.pem");
    await refused("--ca-file", "/no/such/file");
    await refused("--client-certificate", "c.pem");
    await refused("--bootstrap-token", "a", "--bootstrap-token-file", "b");
    for (const token of ["", "abcdef 0123456789abcdef", "abcdef.0123456789abcdef\n", "abcdéf"]) {
      await refused("--bootstrap-token", token);
    }
    await refused("--server", "http://server.example");
  });

  it("name no server by a URL with a password, which no message shows", async () => {
    for (const url of [
      "https://ann:secret@server.example",
      "http://ann:secret@server.example",
      "https://ann:s@ecret@a b",
      "https://ann:s@ec/ret@server.example",
      "https://ann:se cret@server.example",
    ]) {
      await assert.rejects(
        settingsOf("--server", url),
        (error) => error instanceof UsageError && /--server: "https?:..\(left out\)@[sa]/.test(error.message),
      );
    }
  });
});

describe("the connection to a server", () => {
  it("reads tokens and CAs from their files at each use", () => {
    const folder = temporaryFolder();
    const [caFile, bootstrapTokenFile] = [join(folder, "ca.pem"), join(folder, "token")];
    const [one, other] = [newPair().certificatePem, `${newPair().certificatePem}\n`];
    writeFileSync(caFile, one);
    const { caCertificates, bootstrap } = serverAccess({ server: [server], caFile, bootstrapTokenFile });
    const token = (): string | undefined => ("token" in bootstrap ? bootstrap.token() : assert.fail());
    assert.deepEqual([caCertificates(), token()], [one, undefined]);
    writeFileSync(bootstrapTokenFile, "abcdef.0123456789abcdef\n");
    writeFileSync(caFile, other);
    assert.deepEqual([caCertificates(), token()], [other, "abcdef.0123456789abcdef"]);
    writeFileSync(bootstrapTokenFile, "not a token\n");
    assert.equal(token(), undefined);
    writeFileSync(caFile, "half a file");
    assert.equal(caCertificates(), other);
    rmSync(caFile);
    assert.equal(caCertificates(), other);
  });

  it("refuses a kubeconfig that is a pipe, or whose CA is half written, because the agent reads it again", () => {
    const folder = temporaryFolder();
    const [pipe, kubeconfig, authority] = [join(folder, "pipe"), join(folder, "kubeconfig"), join(folder, "ca.crt")];
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        clusters: [{ name: "c", cluster: { server, "certificate-authority": "ca.crt" } }],
        users: [{ name: "u", user: { token: "t" } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
    const { certificatePem } = newPair();
    writeFileSync(authority, certificatePem.slice(0, -100));
    assert.throws(() => serverAccess({ server: [], kubeconfig }), /^UsageError: --kubeconfig: .*it breaks off$/);
    writeFileSync(authority, certificatePem);
    assert.equal(serverAccess({ server: [], kubeconfig }).caCertificates(), certificatePem);
    execFileSync("mkfifo", [pipe]);
    assert.throws(() => serverAccess({ server: [], kubeconfig: pipe }), /^UsageError: --kubeconfig: .*pipe is a pipe/);
  });

  it("is configured by a kubeconfig, and flags take precedence", () => {
    const folder = temporaryFolder();
    const kubeconfig = join(folder, "kubeconfig");
    writeFileSync(
      kubeconfig,
      JSON.stringify({
        clusters: [{ name: "c", cluster: { server: "https://other.example" } }],
        users: [{ name: "u", user: { token: "abcdef.0123456789abcdef" } }],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      }),
    );
    const access = serverAccess({ server: [], kubeconfig });
    assert.equal(access.servers[0], "https://other.example");
    assert.equal(access.bootstrap.type === "token" && access.bootstrap.token(), "abcdef.0123456789abcdef");
    assert.equal(serverAccess({ kubeconfig, server: [server] }).servers[0], server);
    assert.throws(() => serverAccess({ server: [] }), UsageError);
    assert.deepEqual(serverAccess({ server: [server] }).bootstrap, { type: "none" });
  });
});

describe("a trust bundle's flag", () => {
  it("names a bundle or a signer, and the file after the last colon", () => {
    const file = "/etc/anchors.pem";
    assert.deepEqual(parseTrustBundleFile(`example:${file}`), {
      source: { bundleName: "example" },
      file,
      hook: undefined,
    });
    const bundleName = "platform.io:nodeagent-serving:ca";
    assert.deepEqual(parseTrustBundleFile(`${bundleName}:${file}`), { source: { bundleName }, file, hook: undefined });
    const signerName = "platform.io/nodeagent-serving";
    assert.deepEqual(parseTrustBundleFile(`signer=${signerName}:${file}`), {
      source: { signerName },
      file,
      hook: undefined,
    });
  });

  it("is refused without a name or a file", () => {
    for (const text of ["", ":", "name", "name:", ":file", "signer=:file", "signer=x"]) {
      assert.throws(() => parseTrustBundleFile(text), UsageError, text);
    }
  });
});

describe("a new bootstrap token", () => {
  it("is accepted by the server until it expires", () => {
    const now = Date.UTC(2026, 0);
    const groups = ["system:bootstrappers:one", "system:bootstrappers:two"];
    const { token, secret } = newBootstrapToken(platformNames, { groups, expiresAt: now + 1000, description: "d" });
    const authenticateAt = (time: number) =>
      bootstrapTokens({
        names: platformNames,
        clock: { now: () => time },
        isLocked: () => false,
        findSecret: (name) => (name === secret.metadata.name ? secret : undefined),
      })(token);
    assert.deepEqual(authenticateAt(now)?.groups, ["system:bootstrappers", ...groups]);
    assert.equal(authenticateAt(now + 1000), undefined);
    const id = token.slice(0, 6);
    const shown = bootstrapTokenOf(secret);
    assert.deepEqual(shown, {
      id,
      expiration: "2026-01-01T00:00:01Z",
      groups,
      description: "d",
      nodeNames: undefined,
      usedBy: undefined,
      isUsable: true,
    });
    assert.ok(!JSON.stringify(shown).includes(token.slice(7)));
  });

  it("can be named by its id or as a whole", () => {
    assert.equal(tokenIdOf("abc123"), "abc123");
    assert.equal(tokenIdOf("abc123.0123456789abcdef"), "abc123");
    for (const text of ["", "abc", "ABC123", "abc123.", "abc123.short", "abc123/../x"]) {
      assert.equal(tokenIdOf(text), undefined);
    }
  });
});
