import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { platformNames as names } from "../../../../src/machinery/api/names.ts";
import { parseCertificateRequestPem } from "../../../../src/pki/requests/certificate-request.ts";
import { createCertificateRequestPem } from "../../../../src/pki/requests/create-certificate-request.ts";
import { DerReader } from "../../../../src/pki/der/der.ts";
import { encodeSequence } from "../../../../src/pki/der/der-writer.ts";
import { encodeDistinguishedName, parseDistinguishedName } from "../../../../src/pki/names/distinguished-name.ts";
import type { DistinguishedNameParts } from "../../../../src/pki/names/distinguished-name.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import type { SubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import { parseApprovalPolicy } from "../../../../src/features/certificates/policy/approval-policy.ts";
import type { ApprovalInput } from "../../../../src/features/certificates/policy/approval-policy.ts";
import { decideApproval } from "../../../../src/features/certificates/policy/decide-approval.ts";
import type { NodeNames } from "../../../../src/features/certificates/signers/node-names.ts";
import { unusualSubjectFaults } from "../../../../src/features/certificates/signers/subject-requirements.ts";
import { serverNamesIn } from "../../../../src/features/certificates/signers/server-names.ts";
import { signerNames } from "../../../../src/features/certificates/signer-names.ts";
import { settingsFaults } from "../../../machinery/command-line/settings/settings-faults.ts";
import { cpuSecondsOf } from "../../../cpu-seconds-of.ts";

const apiserverClient = signerNames.apiserverClient(names);
const apiserverClientNodeAgent = signerNames.apiserverClientNodeAgent(names);
const nodeAgentServing = signerNames.nodeAgentServing(names);
const privateKey = generatePrivateKey("ECDSA P-256");
const server = {
  dnsNames: ["api.example.com", "*.cluster.example.com", "Host-1"],
  ipAddresses: ["10.0.0.9", "fd00::9"],
};

interface Asked extends Partial<Omit<ApprovalInput, "request">> {
  readonly subject?: DistinguishedNameParts;
  readonly altNames?: Partial<SubjectAltNames>;
  readonly node?: NodeNames;
}

/** The fields for which the one rule of a policy denies; `["approved"]` when it approves. */
function outcome(require: string, { subject, altNames, node, ...asked }: Asked): string[] {
  const policy = parseApprovalPolicy(`
rules:
  - name: the-rule
    match: { signers: [${apiserverClient}, ${apiserverClientNodeAgent}, ${nodeAgentServing}, example.com/any] }
    action: approve
    require: ${require}
`);
  const pem = createCertificateRequestPem({
    privateKey,
    subject: subject ?? { commonName: "w" },
    subjectAltNames: { ...noSubjectAltNames, ...altNames },
  });
  const question = {
    ...{ signerName: "example.com/any", username: "alice", groups: ["dev"], usages: [], lifetimeSeconds: 600 },
    ...asked,
    request: parseCertificateRequestPem(pem),
  };
  const decision = decideApproval(question, {
    policy,
    names,
    serverNames: server,
    findNode: (name) => (question.username === `system:node:${name}` ? node : undefined),
  });
  return decision.type === "denied" ? [...new Set(decision.failed.map(({ field }) => field))] : [decision.type];
}

const anything =
  '{ commonNames: ["**"], organizations: ["**"], dnsNames: ["**"], ipRanges: ["0.0.0.0/0", "::/0"], emailAddresses: ["**"], uris: ["**"] }';

describe("an approval policy that allows everything", () => {
  it("approves no DNS name that programs read differently", () => {
    for (const name of [
      "bank.com\0.example.com",
      "bank.com .example.com",
      " a.example.com",
      "a.example.com.",
      "a..example.com",
      ".example.com",
      "a\\.example.com",
      "a\n.example.com",
      "%61.example.com",
      "a_b.example.com",
      "-a.example.com",
      "a/b.example.com",
      "a@b.example.com",
      "*.example.org",
      "10.1.1.1",
      `${"a".repeat(64)}.example.com`,
      `${"a.".repeat(150)}example.com`,
      "",
    ]) {
      assert.deepEqual(outcome(anything, { altNames: { dnsNames: [name] } }), ["dnsNames"], JSON.stringify(name));
    }
    assert.deepEqual(outcome(anything, { altNames: { dnsNames: ["A-1.example.com"] } }), ["approved"]);
  });

  it("approves no DNS name with an invalid character, at any position", () => {
    const label = fc.stringMatching(/^[a-z]{1,8}$/);
    const bad = fc.integer({ min: 0, max: 127 }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(label, bad, label, (before, character, after) => {
        fc.pre(!/[A-Za-z0-9.-]/.test(character));
        const result = outcome(anything, { altNames: { dnsNames: [`${before}${character}${after}.example.com`] } });
        assert.ok(result.includes("dnsNames"));
      }),
      { numRuns: 200 },
    );
  });

  it("approves no mail address or URI with quotes, escapes, blanks or path segments of dots", () => {
    for (const address of [
      "a@b@example.com",
      '"a b"@example.com',
      "a@bank.com\0.example.com",
      "@example.com",
      "a@",
      "a b@example.com",
      "a@[10.0.0.1]",
      ".a@example.com",
      "a@*.example.com",
      "a@-example.com",
      "example.com",
    ]) {
      assert.deepEqual(outcome(anything, { altNames: { emailAddresses: [address] } }), ["emailAddresses"], address);
    }
    for (const uri of [
      "spiffe://example.com/a/../b",
      "spiffe://example.com/a%2fb",
      "spiffe://bank.com@example.com/a",
      "spiffe://example.com/a?b",
      "spiffe://example.com//a",
      "spiffe:///a",
      "SPIFFE://example.com/a",
      "spiffe://EXAMPLE.com/a",
      "spiffe://example.com/./a",
      "spiffe://example.com:99999999/a",
      "spiffe://example.com:65536/a",
      "https://10.0.0.1:65536/a",
      "spiffe://example.com:443:443/a",
      "https://:443/a",
      "Spiffe://example.com/a",
      "https://*.example.com/a",
      `urn:${"a".repeat(2045)}`,
    ]) {
      assert.deepEqual(outcome(anything, { altNames: { uris: [uri] } }), ["uris"], uri);
    }
    const uris = [
      "spiffe://example.com/ns/a/sa/b",
      "urn:example:a",
      "https://example.com:65535/a",
      "https://10.0.0.1:443/a",
      `urn:${"a".repeat(2044)}`,
    ];
    for (const plain of [
      { emailAddresses: ["a.b+c@example.com", "a@Example.com"] },
      ...uris.map((uri) => ({ uris: [uri] })),
    ]) {
      assert.deepEqual(outcome(anything, { altNames: plain }), ["approved"], JSON.stringify(plain));
    }
  });

  it("approves no name of a kind that the rule leaves out, or that its patterns do not match", () => {
    for (const [field, pattern, good, bad] of [
      ["dnsNames", '"*.example.com"', { dnsNames: ["a.example.com"] }, { dnsNames: ["a.example.org"] }],
      ["ipRanges", '"10.0.0.0/8"', { ipAddresses: ["10.0.0.1"] }, { ipAddresses: ["11.0.0.1"] }],
      [
        "emailAddresses",
        '"*@example.com"',
        { emailAddresses: ["a@example.com"] },
        { emailAddresses: ["a@example.org"] },
      ],
      ["uris", '"spiffe://example.com/*"', { uris: ["spiffe://example.com/a"] }, { uris: ["spiffe://example.org/a"] }],
    ] as const) {
      const require = `{ commonNames: ["**"], ${field}: [${pattern}] }`;
      assert.deepEqual(outcome(require, { altNames: good }), ["approved"], field);
      assert.deepEqual(outcome(require, { altNames: bad }), [field]);
      assert.deepEqual(outcome('{ commonNames: ["**"] }', { altNames: good }), [field]);
    }
  });

  it("approves no name of the API server", () => {
    const own: readonly Partial<SubjectAltNames>[] = [
      ...[
        "api.example.com",
        "API.Example.Com",
        "a.cluster.example.com",
        "host-1",
        "localhost",
        "a.localhost",
        "kubernetes",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        "platform.default",
      ].map((name) => ({ dnsNames: [name] })),
      ...[
        "10.0.0.9",
        "127.0.0.1",
        "127.9.9.9",
        "::1",
        "0.0.0.0",
        "::",
        "fd00::9",
        "fd00:0:0:0::9",
        "::ffff:127.0.0.1",
      ].map((address) => ({ ipAddresses: [address] })),
    ];
    for (const altNames of own)
      assert.deepEqual(outcome(anything, { altNames }), ["serverNames"], JSON.stringify(altNames));
  });

  it("approves none as the common name of a server without DNS names, which OpenSSL takes for one", () => {
    const asked = (commonName: string, ...usages: string[]) => ({ subject: { commonName }, usages });
    const everyPurpose = anything.replace("}", ", usages: [client auth, any] }");
    for (const name of ["localhost", "*.example.com", "API.Example.Com", "127.0.0.1"]) {
      assert.deepEqual(outcome(anything, asked(name, "server auth")), ["serverNames"], name);
      assert.deepEqual(outcome(anything, asked(name, "digital signature")), ["serverNames"], name);
      for (const sgc of ["microsoft sgc", "netscape sgc"])
        assert.deepEqual(outcome(anything, asked(name, "client auth", sgc)), ["serverNames"], name);
      assert.deepEqual(outcome(everyPurpose, asked(name, "client auth", "any")), ["serverNames"], name);
      const named = { altNames: { dnsNames: ["a.test"] } };
      assert.deepEqual(outcome(anything, { ...asked(name, "server auth"), ...named }), ["approved"], name);
      assert.deepEqual(outcome(anything, asked(name, "client auth")), ["approved"], name);
    }
    assert.deepEqual(outcome(anything, asked("a.test", "server auth")), ["approved"]);
    const organization = { subject: { commonName: "a.test", organizations: ["localhost"] }, usages: ["server auth"] };
    assert.deepEqual(outcome(anything, organization), ["approved"]);
  });

  it("approves no reserved user or group, except what a node's signers are for", () => {
    for (const name of [
      "system:serviceaccount:kube-system:root",
      "system:node:n1",
      "system:masters",
      "system:kube-controller-manager",
      "System:masters",
      " system:masters",
    ]) {
      const asCommonName = { subject: { commonName: name }, username: name };
      const asOrganization = { subject: { commonName: "w", organizations: [name] }, groups: [name] };
      for (const signerName of [apiserverClient, "example.com/any"]) {
        assert.deepEqual(outcome(anything, { signerName, ...asCommonName }), ["commonNames"], name);
        assert.deepEqual(outcome("{}", { signerName, ...asCommonName }), ["commonNames"], name);
        assert.deepEqual(outcome(anything, { signerName, ...asOrganization }), ["organizations"], name);
      }
    }
    const node = { subject: { commonName: "system:node:n1", organizations: ["system:nodes"] } };
    assert.deepEqual(outcome(anything, { signerName: apiserverClientNodeAgent, ...node }), ["approved"]);
  });

  it("approves no subject that looks like another one, or holds more than a name and groups", () => {
    for (const commonName of [
      "аlice",
      "alice\0",
      "alice ",
      "a\u202elice",
      "ali\u00adce",
      "alice\n",
      "ａlice",
      "a lice",
    ]) {
      assert.deepEqual(outcome(anything, { subject: { commonName } }), ["commonNames"], JSON.stringify(commonName));
      const organizations = [commonName];
      assert.deepEqual(outcome(anything, { subject: { commonName: "w", organizations } }), ["organizations"]);
    }
    assert.deepEqual(outcome('{ commonNames: ["jürgen"] }', { subject: { commonName: "jürgen" } }), ["approved"]);
    assert.deepEqual(outcome('{ commonNames: ["jürgen", "zoë"] }', { subject: { commonName: "zoë" } }), ["approved"]);
    assert.deepEqual(outcome("{}", { subject: { commonName: "jürgen" }, username: "jürgen" }), ["approved"]);
    assert.deepEqual(outcome(anything, { subject: { commonName: "eco-system:a" } }), ["approved"]);
    const commonNames = ["alice", "bob"].map(
      (commonName) => new DerReader(encodeDistinguishedName({ commonName })).readElement().content,
    );
    const several = parseDistinguishedName(encodeSequence(...commonNames));
    assert.deepEqual(
      unusualSubjectFaults(several).map(({ message }) => message),
      ["only one common name is allowed"],
    );
    for (const more of [{ serialNumber: "1" }, { organizationalUnits: ["u"] }, { countries: ["DE"] }]) {
      assert.deepEqual(outcome(anything, { subject: { commonName: "w", ...more } }), ["subject"]);
    }
  });

  it("approves at most a day when the rule names no lifetime, and counts the signer's default as requested", () => {
    assert.deepEqual(outcome(anything, { lifetimeSeconds: 86_400 }), ["approved"]);
    assert.deepEqual(outcome(anything, { lifetimeSeconds: 86_401 }), ["maximumLifetimeSeconds"]);
    const week = anything.replace("}", ", maximumLifetimeSeconds: 604800 }");
    assert.deepEqual(outcome(week, { lifetimeSeconds: 604_800 }), ["approved"]);
  });

  it("approves no usage of a CA or for its revocations, nor every usage, unless the rule names it", () => {
    for (const usage of ["any", "cert sign", "crl sign", "ocsp signing"]) {
      const asked = { usages: ["server auth", usage] };
      assert.deepEqual(outcome(anything, asked), ["usages"], usage);
      assert.deepEqual(outcome(anything.replace("}", `, usages: [server auth, ${usage}] }`), asked), ["approved"]);
    }
  });

  it("approves at most one hour for a service account's client certificate, whatever the rule allows", () => {
    const year = anything.replace("}", ", maximumLifetimeSeconds: 31536000 }");
    const account = { username: "system:serviceaccount:ci:builder", groups: ["system:serviceaccounts"] };
    const client = { signerName: apiserverClient, ...account };
    assert.deepEqual(outcome(year, { ...client, lifetimeSeconds: 3600 }), ["approved"]);
    assert.deepEqual(outcome(year, { ...client, lifetimeSeconds: 3601 }), ["maximumLifetimeSeconds"]);
    const other = { ...account, signerName: "example.com/any" };
    assert.deepEqual(outcome(year, { ...other, lifetimeSeconds: 86_400 }), ["approved"]);
    for (const one of [{ username: account.username }, { groups: account.groups }]) {
      const byOne = { signerName: apiserverClient, ...one, lifetimeSeconds: 3601 };
      assert.deepEqual(outcome(year, byOne), ["maximumLifetimeSeconds"], JSON.stringify(one));
    }
    const person = { signerName: apiserverClient, username: "x:system:serviceaccount:ci:builder" };
    assert.deepEqual(outcome(year, { ...person, lifetimeSeconds: 86_400 }), ["approved"]);
  });
});

describe("namesBelongToNode", () => {
  const node = { dnsNames: ["n1", "bank.com", "n1.nodes.example.com"], ipAddresses: ["10.1.0.1", "203.0.113.9"] };
  const asNode: Asked = {
    signerName: nodeAgentServing,
    username: "system:node:n1",
    groups: ["system:nodes"],
    subject: { commonName: "system:node:n1", organizations: ["system:nodes"] },
    node,
  };

  it("is refused at load without the names that nodes may have, with one line on what to do", () => {
    const faults = settingsFaults(() =>
      parseApprovalPolicy(
        `rules: [{ name: a, action: approve, match: { signers: [${nodeAgentServing}] }, require: { namesBelongToNode: true } }]`,
      ),
    );
    assert.equal(faults.length, 1);
    assert.match(faults[0] ?? "", /^rules\[0\]\.require\.namesBelongToNode: .*add dnsNames, ipRanges or both/);
  });

  it("allows what a node reports of itself only within dnsNames and ipRanges", () => {
    const both = '{ namesBelongToNode: true, dnsNames: ["n1", "*.nodes.example.com"], ipRanges: [10.0.0.0/8] }';
    const own = { dnsNames: ["n1", "n1.nodes.example.com"], ipAddresses: ["10.1.0.1"] };
    assert.deepEqual(outcome(both, { ...asNode, altNames: own }), ["approved"]);
    assert.deepEqual(outcome(both, { ...asNode, altNames: { dnsNames: ["bank.com"] } }), ["dnsNames"]);
    assert.deepEqual(outcome(both, { ...asNode, altNames: { ipAddresses: ["203.0.113.9"] } }), ["ipRanges"]);
    assert.deepEqual(outcome(both, { ...asNode, altNames: { dnsNames: ["n2.nodes.example.com"] } }), [
      "namesBelongToNode",
    ]);
  });

  it("allows no name of an omitted kind, except the Node's own name", () => {
    const ranges = "{ namesBelongToNode: true, ipRanges: [10.0.0.0/8] }";
    assert.deepEqual(outcome(ranges, { ...asNode, altNames: { dnsNames: ["n1"] } }), ["approved"]);
    assert.deepEqual(outcome(ranges, { ...asNode, altNames: { dnsNames: ["bank.com"] } }), ["dnsNames"]);
    const patterns = '{ namesBelongToNode: true, dnsNames: ["n1"] }';
    assert.deepEqual(outcome(patterns, { ...asNode, altNames: { ipAddresses: ["10.1.0.1"] } }), ["ipRanges"]);
  });

  it("never gives a node the API server's names, whatever the node reports", () => {
    const all = '{ namesBelongToNode: true, dnsNames: ["**"], ipRanges: ["0.0.0.0/0", "::/0"] }';
    const liar = { dnsNames: ["n1", "api.example.com", "localhost"], ipAddresses: ["10.0.0.9", "127.0.0.1"] };
    for (const name of ["api.example.com", "localhost"]) {
      assert.deepEqual(outcome(all, { ...asNode, node: liar, altNames: { dnsNames: [name] } }), ["serverNames"]);
    }
    for (const address of liar.ipAddresses) {
      assert.deepEqual(outcome(all, { ...asNode, node: liar, altNames: { ipAddresses: [address] } }), ["serverNames"]);
    }
  });
});

describe("serverNamesIn", () => {
  const own = (...dnsNames: string[]): string[] => serverNamesIn({ dnsNames, ipAddresses: [] }, server);

  it("recognizes other spellings, wildcards in both directions, and addresses in DNS names", () => {
    for (const name of [
      "api.example.com.",
      "*.example.com",
      "a*.example.com",
      "*pi.example.com",
      "ap*i.example.com",
      "a*p*i.example.com",
      "*a*i.example.com",
      "*.*.com",
      "api.exam*.com",
      "x.cluster.example.com",
      "*.cluster.example.com",
      "localhost\0.evil.com",
      "10.0.0.9",
      "[fd00::9]",
      "127.0.0.1",
      "0.0.0.0",
      "::1",
      "::",
      "*.default.svc",
      "local*",
    ]) {
      assert.deepEqual(own(name), [name], JSON.stringify(name));
    }
  });

  it("finds nothing in other names", () => {
    assert.deepEqual(
      own(
        "example.com",
        "a.b.cluster.example.com",
        "*.api.example.com",
        "xapi.example.com",
        "api.example.com.evil.org",
        "localhost.example.com",
        "10.0.0.90",
        "host-10",
        "b*.example.com",
        "*x.example.com",
        "ap*pi.example.com",
        "a*x*i.example.com",
        "a.localhost.example.com",
        "a*.e*",
        "a.pi.example.com",
        "::2",
        "::1:0:1",
        "100::1",
        "2001:db8::1",
        "128.0.0.1",
      ),
      [],
    );
  });

  it("recognizes the address of a server that is named by it", () => {
    const byAddress = { dnsNames: ["10.0.0.7"], ipAddresses: [] };
    assert.deepEqual(serverNamesIn({ dnsNames: [], ipAddresses: ["10.0.0.7", "10.0.0.8"] }, byAddress), ["10.0.0.7"]);
  });

  it("takes linear time on hostile names", async () => {
    const slow = `${"*a".repeat(30_000)}.example.com`;
    const wanted = { dnsNames: [...Array<string>(200).fill(slow)], ipAddresses: [] };
    const seconds = await cpuSecondsOf(() => {
      assert.deepEqual(serverNamesIn(wanted, { dnsNames: [`${"a".repeat(60)}.example.com`], ipAddresses: [] }), []);
    });
    assert.ok(seconds < 10, `${seconds} seconds`);
  });
});
