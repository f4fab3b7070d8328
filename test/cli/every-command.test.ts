import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { createCertificateRequestPem } from "../../src/pki/requests/create-certificate-request.ts";
import { generatePrivateKey } from "../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../src/pki/names/subject-alt-names.ts";
import { exitCodes } from "../../src/machinery/command-line/command-failure.ts";
import type { ExitName } from "../../src/machinery/command-line/command-failure.ts";
import { leafCommands } from "../../tools/reference/leaf-commands.ts";
import { startTestServer } from "../test-server.ts";
import type { TestServer } from "../test-server.ts";
import type { HostedOutcome } from "./command-host.ts";
import { HostedSignet } from "./hosted-signet.ts";
import { UnhelpfulServers } from "./unhelpful-servers.ts";
import { wordsOf } from "./words-of.ts";

const signer = "example.com/services";
const signers = `
apiVersion: signet.platform.io/v1
kind: SignerConfiguration
signers:
  - name: ${signer}
    certificateAuthority: { generate: { commonName: Services } }
    dnsNames: ["*.services.example"]
    maximumLifetime: 24h
`;
const policy = `
rules:
  - name: all
    match: { signers: [${signer}], groups: ["system:masters"] }
    action: approve
    require: { commonNames: ["*.services.example"], dnsNames: ["*.services.example"] }
`;

describe("every command", { concurrency: 1 }, () => {
  let server: TestServer;
  let unhelpful: UnhelpfulServers;
  let signet: HostedSignet;
  let discovery = "";
  const folder = mkdtempSync(join(tmpdir(), "signet-every-"));
  const file = (name: string): string => join(folder, name);

  /** The serial number of a certificate, the ID of a bootstrap token, and that of a key that does not sign yet. */
  const made = { serial: "", token: "", key: "" };

  /** How each command that asks a server succeeds. They run in this order. */
  const asking = (): Readonly<Record<string, string>> => ({
    "auth whoami": "",
    "auth can-i": "get pods",
    "token create": "default",
    "token review": "test-administrator",
    "token revoke": "--jti leaked",
    "token revocations": "",
    kubeconfig: "--user anna",
    "bootstrap-token create": "",
    "bootstrap-token list": "",
    "bootstrap-token delete": made.token,
    "node lock": "edge-1",
    "node locks": "",
    "node unlock": "edge-1",
    "csr create": `one.services.example --key-file "${file("one.key")}" --signer ${signer} --dns one.services.example --wait`,
    "csr submit": `four --from-file "${file("four.csr")}"`,
    "csr list": "",
    "csr describe": "one.services.example",
    "csr get": "one.services.example --wait",
    "csr approve": "two --yes",
    "csr deny": "three",
    "certificates list": "",
    "certificates describe": made.serial,
    "certificates renew": signer,
    "certificates revoke": "--subject CN=anna",
    "certificates revocations": "",
    "certificates issue": `web --signer ${signer} --dns web.services.example --out "${file("web.pem")}"`,
    "trust create": `anchors --from-file "${file("ca.crt")}"`,
    "trust list": "",
    "trust describe": "anchors",
    "role create": "x --verb get --resource pods",
    "role list": "",
    "role describe": "x",
    "rolebinding create": "x --role x --user anna",
    "rolebinding list": "",
    "rolebinding describe": "x",
    "rolebinding delete": "x",
    "role delete": "x",
    "clusterrole create": "x --verb get --resource pods",
    "clusterrole list": "",
    "clusterrole describe": "x",
    "clusterrolebinding create": "x --clusterrole x --user anna",
    "clusterrolebinding list": "",
    "clusterrolebinding describe": "x",
    "clusterrolebinding delete": "x",
    "clusterrole delete": "x",
  });

  /** How each other command has something to say. They run in this order. */
  const others = (): Readonly<Record<string, string>> => {
    const dataDirectory = `--data-dir "${server.dataDirectory}"`;
    return {
      "keys list": dataDirectory,
      "keys retire": `${made.key} ${dataDirectory}`,
      "keys rotate": dataDirectory,
      "ca list": dataDirectory,
      "ca abort": `nodeagent-serving-ca ${dataDirectory}`,
      "ca prepare": `nodeagent-client-ca ${dataDirectory}`,
      "ca switch": `nodeagent-client-ca --force ${dataDirectory}`,
      "ca retire": `nodeagent-client-ca --force ${dataDirectory}`,
      backup: `"${file("backup")}" ${dataDirectory}`,
      restore: `--dry-run "${file("backup")}"`,
      "audit verify": `"${file("policy.yaml")}"`,
      "encryption status": dataDirectory,
      "encryption rotate": dataDirectory,
      "encryption rewrite": dataDirectory,
      "encryption retire": dataDirectory,
      doctor: dataDirectory,
      "support-bundle": `"${file("support")}" ${dataDirectory}`,
      "agent check": `--server ${server.url} --ca-file "${file("ca.crt")}" --data-dir "${file("agent")}"`,
      completion: "bash",
    };
  };
  /** Commands that need more than a server, or that run until they are stopped. Tests of their own run them. */
  const elsewhere = [
    ...["serve", "controllers", "agent", "agent once", "agent status", "agent renew"],
    ...["storage migrate", "encryption discard", "keys reseal"],
  ];

  const kubeconfig = (name: string, url: string): string => {
    const contents = {
      "current-context": "c",
      contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
      clusters: [
        {
          name: "c",
          cluster: { server: url, "certificate-authority-data": readFileSync(file("ca.crt")).toString("base64") },
        },
      ],
      users: [{ name: "u", user: { token: server.adminToken } }],
    };
    writeFileSync(file(name), JSON.stringify(contents), { mode: 0o600 });
    return file(name);
  };
  const succeed = (words: string, connection = `--kubeconfig "${server.kubeconfigFile}"`): Promise<string> =>
    signet.succeed(wordsOf(`${words} ${connection}`));

  before(async () => {
    writeFileSync(file("signers.yaml"), signers);
    writeFileSync(file("policy.yaml"), policy);
    server = await startTestServer({
      storage: "lmdb",
      settings: { "signer-config": file("signers.yaml"), "approval-policy": file("policy.yaml") },
    });
    unhelpful = new UnhelpfulServers(server);
    signet = new HostedSignet();
    writeFileSync(file("ca.crt"), readFileSync(join(server.dataDirectory, "ca.crt")));
    discovery = JSON.stringify(await server.client.request("/apis"));
    const subject = { commonName: "four", organizations: [] };
    const privateKey = generatePrivateKey("ECDSA P-256");
    const pem = createCertificateRequestPem({ privateKey, subject, subjectAltNames: noSubjectAltNames });
    // As keytool writes it.
    writeFileSync(file("four.csr"), `of a switch\n${pem.replaceAll("CERTIFICATE REQUEST", "NEW CERTIFICATE REQUEST")}`);
    for (const name of ["two", "three"]) await succeed(`csr create ${name} --key-file "${file("made.key")}"`);
    await succeed(
      `csr create a.services.example --key-file "${file("made.key")}" --signer ${signer} --dns a.services.example --wait`,
    );
    made.serial = JSON.parse(await succeed("certificates list -o json")).items[0].spec.serialNumber;
    made.token = JSON.parse(await succeed("bootstrap-token create -o json")).id;
    const dataDirectory = `--data-dir "${server.dataDirectory}"`;
    made.key = /key (\S+) /.exec(await succeed("keys rotate", dataDirectory))?.[1] ?? "";
    await succeed("ca prepare nodeagent-serving-ca", dataDirectory);
  });
  after(async () => {
    signet.stop();
    unhelpful.close();
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  /** One line that says what is wrong, no stack, and one of the exit codes. */
  const check = ({ code, stderr }: HostedOutcome, words: string, exits: readonly ExitName[]): void => {
    assert.ok(
      exits.some((exit) => exitCodes[exit].code === code),
      `${words}: ${code}: ${stderr}`,
    );
    assert.match(stderr, /^(?:[^\n]+\n)*signet: [^\n]+\n$/, words);
    assert.doesNotMatch(stderr, /^ +at |\.[jt]s:\d+|node:internal|Error:|undefined|\[object/m, words);
  };

  it("is in the tables of this test", () => {
    const listed = [...Object.keys(asking()), ...Object.keys(others()), ...elsewhere];
    assert.deepEqual(
      listed.toSorted(),
      leafCommands()
        .map(({ words }) => words.replace("signet ", ""))
        .toSorted(),
    );
  });

  /** Runs every command that asks a server against one that misbehaves. */
  const ask = async (url: string, exits: readonly ExitName[], ...more: string[]): Promise<void> => {
    const config = kubeconfig("misbehaving", url);
    for (const [command, words] of Object.entries(asking())) {
      const given = wordsOf(`${command} ${words}`);
      check(await signet.run([...given, "--kubeconfig", config, ...more]), `signet ${command}`, exits);
    }
  };
  const afterDiscovery = (misbehave: (response: ServerResponse) => void): Promise<string> =>
    unhelpful.answering(({ url }, response) => {
      if (url === "/apis") response.end(discovery);
      else misbehave(response);
    });

  const misbehaviours: Readonly<Record<string, (response: ServerResponse) => void>> = {
    "says nothing": () => {},
    "answers with a web page and code 500": (response) => void response.writeHead(500).end("<html>"),
    "answers with an object of no kind": (response) => void response.end("{}"),
  };
  for (const [what, misbehave] of Object.entries(misbehaviours)) {
    it(`says in one line that the server, after a first answer, ${what}`, async () => {
      await ask(await afterDiscovery(misbehave), ["unreachable"], "--timeout", "30ms");
    });
  }
  it("says in one line that standard output is on a full disk", async () => {
    const connection = `--kubeconfig "${server.kubeconfigFile}"`;
    const words = [
      ...Object.entries(asking()).map(([command, more]) => `${command} ${more} ${connection}`),
      ...Object.entries(others()).map(([command, more]) => `${command} ${more}`),
    ];
    for (const line of words) {
      const outcome = await signet.run(wordsOf(line), {}, { isOutputFull: true });
      check(outcome, line, ["unwritable"]);
      assert.equal(outcome.stderr.split("cannot write to standard output").length, 2, line);
    }
  });
});
