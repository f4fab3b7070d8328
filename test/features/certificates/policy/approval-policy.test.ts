import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import type { KeyObject } from "node:crypto";
import { describe, it } from "node:test";
import fc from "fast-check";
import { namesFor, platformNames } from "../../../../src/machinery/api/names.ts";
import { parseCertificateRequestPem } from "../../../../src/pki/requests/certificate-request.ts";
import { createCertificateRequestPem } from "../../../../src/pki/requests/create-certificate-request.ts";
import { generatePrivateKey } from "../../../../src/pki/keys/keys.ts";
import type { KeyType } from "../../../../src/pki/keys/keys.ts";
import { noSubjectAltNames } from "../../../../src/pki/names/subject-alt-names.ts";
import { parseApprovalPolicy } from "../../../../src/features/certificates/policy/approval-policy.ts";
import type { ApprovalInput } from "../../../../src/features/certificates/policy/approval-policy.ts";
import { approvalCondition, decideApproval } from "../../../../src/features/certificates/policy/decide-approval.ts";
import type {
  ApprovalDecision,
  ApprovalContext,
} from "../../../../src/features/certificates/policy/decide-approval.ts";
import type { NodeNames } from "../../../../src/features/certificates/signers/node-names.ts";
import { namePattern } from "../../../../src/features/certificates/policy/name-pattern.ts";
import { parseYamlSettings } from "../../../../src/machinery/command-line/settings/parse-yaml-settings.ts";
import { cpuSecondsOf } from "../../../cpu-seconds-of.ts";
import { settingsFaults } from "../../../machinery/command-line/settings/settings-faults.ts";
import { withUnknownFields } from "../../../machinery/command-line/with-unknown-fields.ts";

const nodeServing = `
rules:
  - name: no-contractors
    match: { signers: [platform.io/nodeagent-serving], groups: [contractors] }
    action: deny
  - name: node-serving
    match:
      signers: [platform.io/nodeagent-serving]
      users: ["system:node:*"]
      groups: ["system:nodes"]
    action: approve
    require:
      namesBelongToNode: true
      ipRanges: [10.0.0.0/8, "fd00::/8"]
      keys: [{ type: ECDSA }, { type: RSA, minimumBits: 3072 }]
      maximumLifetimeSeconds: 86400
      usages: [digital signature, server auth]
  - name: spiffe
    match: { signers: [example.com/workload] }
    action: approve
    require:
      commonNames: ["*"]
      uris: ["spiffe://example.com/ns/*/SA/*"]
      dnsNames: ["*.SVC.example.com"]
      emailAddresses: ["*@example.com"]
`;

const faultsOf = (text: string): readonly string[] => settingsFaults(() => parseApprovalPolicy(text));

const policy = parseApprovalPolicy(nodeServing);
const keys = new Map(
  (["ECDSA P-256", "RSA 2048", "Ed25519"] as KeyType[]).map((type) => [type, generatePrivateKey(type)]),
);
const nodes = new Map<string, NodeNames>([
  ["n1", { dnsNames: ["N1", "n1.example.com"], ipAddresses: ["10.0.0.1", "192.168.0.1"] }],
]);

function question(
  changes: Partial<ApprovalInput> & {
    names?: object;
    subject?: object;
    keyType?: KeyType;
    privateKey?: KeyObject;
  } = {},
): ApprovalInput {
  const { names, subject, keyType = "ECDSA P-256", privateKey = keys.get(keyType), ...rest } = changes;
  assert.ok(privateKey);
  const request = parseCertificateRequestPem(
    createCertificateRequestPem({
      privateKey,
      subject: subject ?? { commonName: "system:node:n1", organizations: ["system:nodes"] },
      subjectAltNames: { ...noSubjectAltNames, ...(names ?? { dnsNames: ["n1"], ipAddresses: ["10.0.0.1"] }) },
    }),
  );
  return {
    signerName: "platform.io/nodeagent-serving",
    username: "system:node:n1",
    groups: ["system:nodes", "system:authenticated"],
    usages: ["digital signature", "server auth"],
    lifetimeSeconds: 3600,
    request,
    ...rest,
  };
}

const context: ApprovalContext = {
  policy,
  names: platformNames,
  serverNames: { dnsNames: ["api.example.org", "*.api.example.org"], ipAddresses: ["10.0.0.9", "fd00::9"] },
  findNode: (name) => nodes.get(name),
};

const decide = (asked: ApprovalInput): ApprovalDecision => decideApproval(asked, context);
const failedFields = (asked: ApprovalInput): string[] => {
  const decision = decide(asked);
  return decision.type === "denied" ? decision.failed.map(({ field }) => field) : [decision.type];
};

describe("decideApproval", () => {
  it("approves a request that the first matching rule allows, and names the rule", () => {
    const decision = decide(question());
    assert.deepEqual(decision, { type: "approved", rule: "node-serving" });
    assert.deepEqual(approvalCondition({ type: "approved", rule: "node-serving" }), {
      type: "Approved",
      reason: "ApprovalPolicy",
      message: 'Approved by rule "node-serving" of the approval policy.',
    });
  });

  it("decides nothing when no rule matches", () => {
    assert.deepEqual(decide(question({ signerName: "platform.io/apiserver-client" })), { type: "undecided" });
    assert.deepEqual(decide(question({ username: "alice" })), { type: "undecided" });
    assert.deepEqual(decide(question({ groups: [] })), { type: "undecided" });
  });

  it("finds a rule by the signer's name in its other spelling, a denying one too", () => {
    const spelledOtherwise = nodeServing.replaceAll("platform.io/nodeagent-serving", "kubernetes.io/kubelet-serving");
    const names = namesFor("platform", { hasUpstreamNames: true });
    const otherwise = { ...context, names, policy: parseApprovalPolicy(spelledOtherwise) };
    assert.deepEqual(decideApproval(question(), otherwise), { type: "approved", rule: "node-serving" });
    const contractor = question({ groups: ["system:nodes", "contractors"] });
    assert.deepEqual(decideApproval(contractor, otherwise), { type: "denied", rule: "no-contractors", failed: [] });
  });

  it("stops at the first rule that matches, a denying one too", () => {
    const decision = decide(question({ groups: ["system:nodes", "contractors"] }));
    assert.deepEqual(decision, { type: "denied", rule: "no-contractors", failed: [] });
  });

  it("names the field that failed", () => {
    assert.deepEqual(failedFields(question({ names: { dnsNames: ["n2"] } })), ["namesBelongToNode"]);
    assert.deepEqual(failedFields(question({ names: { ipAddresses: ["192.168.0.1"] } })), ["ipRanges"]);
    assert.deepEqual(failedFields(question({ names: { ipAddresses: ["10.0.0.2"] } })), ["namesBelongToNode"]);
    assert.deepEqual(failedFields(question({ names: { dnsNames: ["n1"], uris: ["a:b"] } })), ["uris"]);
    assert.deepEqual(failedFields(question({ names: { dnsNames: ["*.example.com"] } })), [
      "dnsNames",
      "namesBelongToNode",
    ]);
    assert.deepEqual(failedFields(question({ keyType: "Ed25519" })), ["keys"]);
    assert.deepEqual(failedFields(question({ keyType: "RSA 2048" })), ["keys"]);
    assert.deepEqual(failedFields(question({ lifetimeSeconds: 86_401 })), ["maximumLifetimeSeconds"]);
    assert.deepEqual(failedFields(question({ usages: ["server auth", "client auth"] })), ["usages"]);
  });

  it("approves the keys that signers sign, when a rule names none, and of a named type those from its usual size", () => {
    const isApproved = (require: string, privateKey: KeyObject): boolean => {
      const rule = `{ name: r, match: { signers: [example.com/x] }, action: approve, require: ${require} }`;
      const asked = question({ signerName: "example.com/x", subject: { commonName: "w" }, names: {}, privateKey });
      return decideApproval(asked, { ...context, policy: parseApprovalPolicy(`rules: [${rule}]`) }).type === "approved";
    };
    const small = generateKeyPairSync("rsa", { modulusLength: 2047 }).privateKey;
    for (const require of ["", ", keys: [{ type: ECDSA }, { type: RSA }, { type: Ed25519 }]"]) {
      for (const [type, key] of keys) assert.ok(isApproved(`{ commonNames: [w]${require} }`, key), type);
      assert.ok(!isApproved(`{ commonNames: [w]${require} }`, small));
    }
    const larger = "[{ type: ECDSA, minimumBits: 257 }, { type: RSA, minimumBits: 2049 }]";
    for (const [type, key] of keys)
      for (const none of ["[]", larger]) assert.ok(!isApproved(`{ commonNames: [w], keys: ${none} }`, key), type);
  });

  it("names the failed requirement in the condition", () => {
    const decision = decide(question({ names: { dnsNames: ["evil.example.com"] } }));
    assert.ok(decision.type === "denied");
    assert.equal(
      approvalCondition(decision).message,
      'Denied by rule "node-serving" of the approval policy: namesBelongToNode: "evil.example.com" is not a name of the node.',
    );
  });

  it("requires the requester's own name and groups by default", () => {
    const otherNode = { commonName: "system:node:n2", organizations: ["system:nodes"] };
    assert.deepEqual(failedFields(question({ subject: otherNode })), ["commonNames"]);
    const masters = { commonName: "system:node:n1", organizations: ["system:nodes", "system:masters"] };
    assert.deepEqual(failedFields(question({ subject: masters })), ["organizations"]);
    const withUnit = { commonName: "system:node:n1", organizations: ["system:nodes"], organizationalUnits: ["x"] };
    assert.deepEqual(failedFields(question({ subject: withUnit })), ["subject"]);
  });

  it("approves a request without a common name where the rule lists the empty one, and else says so", () => {
    const outcome = (require: string): ApprovalDecision => {
      const rule = `{ name: r, match: { signers: [example.com/x] }, action: approve, require: ${require} }`;
      const asked = question({ signerName: "example.com/x", subject: {}, names: {} });
      return decideApproval(asked, { ...context, policy: parseApprovalPolicy(`rules: [${rule}]`) });
    };
    assert.equal(outcome('{ commonNames: ["", "web"] }').type, "approved");
    for (const require of ['{ commonNames: ["web"] }', "{}"]) {
      const decision = outcome(require);
      assert.ok(decision.type === "denied");
      assert.match(
        approvalCondition(decision).message,
        /commonNames: the request has none, which the rule allows with ""/,
      );
    }
  });

  it("approves an organization without a name where the rule lists the empty one", () => {
    const outcome = (organizations: readonly string[]): ApprovalDecision["type"] => {
      const rule = `{ name: r, match: { signers: [example.com/x] }, action: approve, require: { commonNames: [w], organizations: [""] } }`;
      const asked = question({ signerName: "example.com/x", subject: { commonName: "w", organizations }, names: {} });
      return decideApproval(asked, { ...context, policy: parseApprovalPolicy(`rules: [${rule}]`) }).type;
    };
    assert.equal(outcome([""]), "approved");
    assert.equal(outcome(["", "other"]), "denied");
  });

  it("refuses the names of a node that does not exist", () => {
    const gone = {
      username: "system:node:n9",
      subject: { commonName: "system:node:n9", organizations: ["system:nodes"] },
    };
    assert.deepEqual(failedFields(question(gone)), ["namesBelongToNode"]);
  });

  it("matches URIs, DNS names and addresses piece by piece", () => {
    const workload = (names: object): string[] =>
      failedFields(question({ signerName: "example.com/workload", subject: { commonName: "w" }, names }));
    assert.deepEqual(workload({ uris: ["spiffe://example.com/ns/a/SA/b"] }), ["approved"]);
    assert.deepEqual(workload({ uris: ["spiffe://example.com/ns/a/b/SA/c"] }), ["uris"]);
    assert.deepEqual(workload({ uris: ["spiffe://example.org/ns/a/SA/b"] }), ["uris"]);
    // Capitals make no difference in DNS names, and in nothing else.
    assert.deepEqual(workload({ uris: ["spiffe://example.com/ns/a/sa/b"] }), ["uris"]);
    assert.deepEqual(workload({ dnsNames: ["A.svc.example.com"] }), ["approved"]);
    assert.deepEqual(workload({ dnsNames: ["a.b.svc.example.com"] }), ["dnsNames"]);
    assert.deepEqual(workload({ dnsNames: ["*.svc.example.com"] }), ["dnsNames"]);
    assert.deepEqual(workload({ dnsNames: ["a.svc.example.com.evil.org"] }), ["dnsNames"]);
    assert.deepEqual(workload({ emailAddresses: ["a@example.com"] }), ["approved"]);
    assert.deepEqual(workload({ emailAddresses: ["a@b@example.com"] }), ["emailAddresses"]);
    assert.deepEqual(workload({ ipAddresses: ["10.0.0.1"] }), ["ipRanges"]);
  });
});

describe("parseApprovalPolicy", () => {
  it("refuses a field that there is not, wherever it is: a misspelt requirement would approve too much", () => {
    for (const { path, content } of withUnknownFields(parseYamlSettings(nodeServing))) {
      assert.deepEqual(faultsOf(JSON.stringify(content)), [`${path}: unknown field`]);
    }
  });

  it("names every fault with its path", () => {
    const faults = faultsOf(`
rules:
  - name: "bad name"
    match: { signers: [], user: [x] }
    action: maybe
    require:
      ipRanges: [10.0.0.0/40]
      dnsNames: [""]
      keys: [{ type: DSA }]
      usages: [flying]
      maximumLifetimeSeconds: -1
      namesBelongToNode: "yes"
`);
    assert.deepEqual(faults.map((fault) => fault.slice(0, fault.indexOf(":"))).toSorted(), [
      "rules[0].action",
      "rules[0].match.signers",
      "rules[0].match.user",
      "rules[0].name",
      "rules[0].require.dnsNames[0]",
      "rules[0].require.ipRanges[0]",
      "rules[0].require.keys[0].type",
      "rules[0].require.maximumLifetimeSeconds",
      "rules[0].require.namesBelongToNode",
      "rules[0].require.usages",
    ]);
  });

  it("refuses an invalid policy", () => {
    for (const text of [
      "",
      "rules: []",
      "[]",
      "rules: {}",
      "rules: [1]",
      "a: [",
      "rules: []\n---\nrules: []",
      "other: 1",
    ]) {
      assert.notDeepEqual(faultsOf(text), [], text);
    }
    const rule = "{ name: a, action: deny, match: { signers: [x] } }";
    assert.deepEqual(faultsOf(`rules: [${rule}]`), []);
    assert.deepEqual(faultsOf(`rules: [${rule}, ${rule}]`), [
      "rules[1].name: must be unique, but rules[0] has the same name",
    ]);
    const unnamed = "{ action: deny, match: { signers: [x] } }";
    assert.doesNotMatch(faultsOf(`rules: [${unnamed}, ${unnamed}]`).join(), /unique/);
    assert.match(
      faultsOf("rules: [{ name: a, action: deny, match: { signers: [x] }, require: {} }]").join(),
      /is not allowed in a rule with action deny/,
    );
  });

  it("refuses aliases, with which small files grow large", () => {
    assert.notDeepEqual(faultsOf("a: &a [x]\nrules: [*a, *a]"), []);
  });

  it("says what is wrong, whatever the text", () => {
    const piece = fc.constantFrom(
      "rules",
      ":",
      "\n",
      "  ",
      "- ",
      "[",
      "]",
      "{",
      "}",
      "name",
      "&a",
      "*a",
      '"',
      "match",
      "__proto__",
      "1",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (pieces) => {
        faultsOf(pieces.join(""));
      }),
    );
  });
});

describe("namePattern", () => {
  const matches = (pattern: string, name: string): boolean => {
    const made = namePattern(pattern, ".");
    assert.ok(!("fault" in made));
    return made.matches(name);
  };

  it("treats everything except its wildcards literally", () => {
    assert.ok(matches("a.b", "a.b") && !matches("a.b", "axb") && !matches("a", "a\n") && !matches("[a]+", "a"));
    assert.ok(matches("*.b", "a.b") && !matches("*.b", "a.a.b") && matches("**.b", "a.a.b") && matches("**", "a\nb"));
  });

  it("takes linear time on hostile names", async () => {
    const seconds = await cpuSecondsOf(() => {
      assert.ok(!matches(`${"**a*a".repeat(100)}*b*`, "a".repeat(4000)));
      assert.ok(matches("**".repeat(256), "a".repeat(4000)));
    });
    assert.ok(seconds < 5, `${seconds} seconds`);
  });

  it("matches what the same regular expression matches", () => {
    const texts = (characters: string, length: number): string[] =>
      length === 0
        ? [""]
        : texts(characters, length - 1).flatMap((text) => Array.from(characters, (one) => text + one));
    const names = [0, 1, 2, 3, 4].flatMap((length) => texts("a.", length));
    for (const pattern of [1, 2, 3, 4, 5].flatMap((length) => texts("a.*", length))) {
      const parts = pattern.match(/\*\*|[^]/g) ?? [];
      const source = parts.map((part) => ({ "**": "[^]*", "*": "[^.]*", ".": "\\." })[part] ?? part).join("");
      const expression = new RegExp(`^${source}$`);
      for (const name of names) assert.equal(matches(pattern, name), expression.test(name), `${pattern} and ${name}`);
    }
  });

  it("looks only at the ends of long names that other patterns of a policy are for", async () => {
    const patterns = Array.from({ length: 20 }, (_, at) => `spiffe://example~org/ns/*/sa/service-${at}`);
    const names = Array.from({ length: 1000 }, (_, at) => `spiffe://example~org/ns/${"a".repeat(780)}${at}`);
    const seconds = await cpuSecondsOf(() => {
      for (const name of names) for (const pattern of patterns) assert.ok(!matches(pattern, name));
    });
    assert.ok(seconds < 1, "it takes no time for each character");
  });

  it("bounds the length of patterns and names", () => {
    assert.ok(!matches("**", "a".repeat(4097)));
    for (const pattern of ["", "a".repeat(513)]) assert.ok("fault" in namePattern(pattern, "."));
  });
});
