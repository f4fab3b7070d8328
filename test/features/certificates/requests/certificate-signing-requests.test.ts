import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { CertificateSigningRequest } from "../../../../src/features/certificates/requests/certificate-signing-request-schema.ts";
import { certificateSigningRequests } from "../../../../src/features/certificates/requests/certificate-signing-requests.ts";
import {
  alice,
  base64,
  cells,
  context,
  messages,
  names,
  nowText,
  pem,
  prepared,
  startedFaultsOfNew,
} from "../../resource-scene.ts";

const definition = certificateSigningRequests(names);
type Spec = CertificateSigningRequest["spec"];
type Conditions = NonNullable<CertificateSigningRequest["status"]["conditions"]>;

const request = (spec: Partial<Spec> = {}): CertificateSigningRequest => ({
  apiVersion: "certificates.platform.io/v1",
  kind: "CertificateSigningRequest",
  metadata: { name: "r" },
  spec: { request: base64("csr-ecdsa.pem"), signerName: "example.com/signer", usages: ["client auth"], ...spec },
  status: {},
});

describe("a new certificate request", () => {
  it("has its sender as requester and is undecided, whatever the body contains", () => {
    const sent: CertificateSigningRequest = {
      ...request({ username: "mallory", uid: "x", groups: ["system:masters"], extra: { scope: ["all"] } }),
      status: { conditions: [{ type: "Approved", status: "True" }], certificate: base64("leaf.pem") },
    };
    const { spec, status } = prepared(definition, sent);
    assert.deepEqual(status, {});
    assert.equal(spec.username, alice.username);
    assert.equal(spec.uid, alice.uid);
    assert.deepEqual(spec.groups, alice.groups);
    assert.deepEqual(spec.extra, alice.extra);
  });

  const refused: readonly (readonly [string, Partial<Spec>, RegExp])[] = [
    [
      "a wrong signature",
      { request: base64("csr-tampered.pem") },
      /spec\.request: .*x509: ECDSA verification failure$/,
    ],
    ["a certificate in its place", { request: base64("ca1.pem") }, /PEM block type must be CERTIFICATE REQUEST$/],
    ["an MD5 signature", { request: base64("cert-csr-rsa-md5.pem") }, /insecure algorithm MD5-RSA$/],
    ["an empty request", { request: "" }, /^spec\.request: Invalid value: "": PEM block type/],
    [
      "an unknown usage",
      { usages: ["bogus"] },
      /^spec\.usages\[0\]: Unsupported value: "bogus": supported values: "any", /,
    ],
    ["a usage twice", { usages: ["any", "any"] }, /^spec\.usages\[1\]: Duplicate value: "any"$/],
    ["599 seconds", { expirationSeconds: 599 }, /^spec\.expirationSeconds: .*less than 600 seconds \(10 minutes\)$/],
    ["the legacy signer", { signerName: "platform.io/legacy-unknown" }, /the legacy signerName is not allowed/],
    ["no signer", { signerName: "" }, /^spec\.signerName: Required value$/],
    ["a signer without a domain", { signerName: "nodomain" }, /must be a fully qualified domain and path of the form/],
    ["a signer with two slashes", { signerName: "example.com/a/b" }, /must be a fully qualified domain and path/],
    ["a domain of one label", { signerName: "example/a" }, /should be a domain with at least two segments/],
    ["an upper-case domain", { signerName: "Example.com/a" }, /validating label "Example": a lowercase RFC 1123 label/],
    ["an upper-case path", { signerName: "example.com/A.B" }, /validating label "A": a lowercase RFC 1123 subdomain/],
  ];
  for (const [what, spec, expected] of refused) {
    it(`with ${what} is refused`, async () => {
      const faults = await startedFaultsOfNew(definition, request(spec));
      assert.equal(faults.length, 1, faults.join("\n"));
      assert.match(faults[0] ?? "", expected);
    });
  }

  it("without a request shows null in the error", async () => {
    const faults = await startedFaultsOfNew(definition, request({ request: null }));
    assert.deepEqual(faults, ["spec.request: Invalid value: null: PEM block type must be CERTIFICATE REQUEST"]);
  });

  it("may omit its usages, ask for 600 seconds, and name a signer of the greatest length", async () => {
    const { usages: _, ...spec } = request({ expirationSeconds: 600 }).spec;
    const domain = ["a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(61)].join(".");
    const signerName = `${domain}/${"e".repeat(63)}.${"f".repeat(253)}`;
    assert.equal(signerName.length, 571);
    assert.deepEqual(await startedFaultsOfNew(definition, { ...request(), spec: { ...spec, signerName } }), []);
    assert.match(
      (await startedFaultsOfNew(definition, { ...request(), spec: { ...spec, signerName: `${signerName}f` } })).join(
        "\n",
      ),
      /Too long: may not be more than 571 bytes/,
    );
  });

  it("may have any name", () => {
    assert.deepEqual(definition.validateName("node-csr:X_", { isPrefix: false, object: request() }), []);
  });
});

const stored = (conditions: Conditions = [], certificate?: string): CertificateSigningRequest => ({
  ...prepared(definition, request()),
  status: { ...(conditions.length > 0 && { conditions }), ...(certificate !== undefined && { certificate }) },
});
const condition = (type: string, status = "True"): Conditions[number] => ({ type, status, reason: "Because" });
const old = "2020-02-03T04:05:06Z";
const dated = (type: string, status = "True"): Conditions[number] => ({
  ...condition(type, status),
  lastUpdateTime: old,
  lastTransitionTime: old,
});

/** What a write to a subresource makes of the stored request, and its faults. */
async function write(
  subresource: "approval" | "status",
  { previous, status }: { previous: CertificateSigningRequest; status: CertificateSigningRequest["status"] },
) {
  const strategy = definition.subresources?.[subresource];
  assert.ok(strategy?.type === "update");
  const sent = { ...previous, spec: { request: null, signerName: "bad" }, status };
  const next = strategy.prepareForUpdate(sent, { ...context, previous });
  const started = await strategy.startUpdateValidation?.(next, { ...context, previous });
  return { next, faults: messages(started?.() ?? strategy.validateUpdate?.(next, { ...context, previous })) };
}

describe("a condition", () => {
  const remove = (type: string) => `status.conditions: Forbidden: updates may not remove a condition of type "${type}"`;
  const add = (type: string) => `status.conditions: Forbidden: updates may not add a condition of type "${type}"`;
  const both = (type: string) =>
    `status.conditions: Invalid value: "${type}": Approved and Denied conditions are mutually exclusive`;
  const only = 'status.conditions[0].status: Unsupported value: "False": supported values: "True"';

  /** Where, which conditions are there, which are sent, the faults. */
  const transitions: readonly (readonly ["approval" | "status", string[], string[], string[]])[] = [
    ["approval", [], ["Approved"], []],
    ["approval", [], ["Denied"], []],
    ["approval", [], ["Failed"], []],
    ["approval", [], ["Custom"], []],
    ["approval", ["Custom"], [], []],
    ["approval", ["Approved"], [], [remove("Approved")]],
    ["approval", ["Denied"], ["Approved"], [remove("Denied")]],
    ["approval", ["Denied"], ["Denied", "Approved"], [both("Approved")]],
    ["approval", ["Failed"], ["Approved"], [remove("Failed")]],
    ["approval", [], ["Approved", "Approved"], ['status.conditions[1].type: Duplicate value: "Approved"']],
    ["status", [], ["Failed"], []],
    ["status", ["Approved"], ["Approved", "Failed"], []],
    ["status", ["Approved"], ["Failed", "Approved"], []],
    ["status", [], ["Approved"], [add("Approved")]],
    ["status", [], ["Approved", "Denied"], [both("Denied"), add("Approved"), add("Denied")]],
    ["status", ["Approved"], ["Denied"], [remove("Approved"), add("Denied")]],
    ["status", ["Approved", "Failed"], [], [remove("Approved"), remove("Failed")]],
    ["approval", [], ["Approved=False"], [only]],
    ["status", [], ["Failed=False"], [only]],
    ["approval", [], ["Custom=False"], []],
    [
      "approval",
      [],
      ["Custom=Maybe"],
      ['status.conditions[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"'],
    ],
    ["approval", [], ["Custom="], ["status.conditions[0].status: Required value"]],
    ["approval", [], [""], ["status.conditions[0].type: Required value"]],
  ];
  const parse = (text: string): Conditions[number] => condition(...(text.split("=") as [string, string?]));
  for (const [subresource, before, after, expected] of transitions) {
    it(`from [${before.join()}] to [${after.join()}] through ${subresource} has ${expected.length} faults`, async () => {
      const { faults } = await write(subresource, {
        previous: stored(before.map(parse)),
        status: { conditions: after.map(parse) },
      });
      assert.deepEqual(faults, expected);
    });
  }

  it("gets its times from the server where it has none", async () => {
    const { next } = await write("approval", { previous: stored(), status: { conditions: [condition("Approved")] } });
    assert.deepEqual(next.status.conditions, [
      { ...condition("Approved"), lastUpdateTime: nowText, lastTransitionTime: nowText },
    ]);
  });

  it("keeps the times that the client gives", async () => {
    const { next } = await write("approval", { previous: stored(), status: { conditions: [dated("Approved")] } });
    assert.deepEqual(next.status.conditions, [dated("Approved")]);
  });

  it("keeps the time of its transition until its status changes", async () => {
    const previous = stored([dated("Custom", "False")]);
    const same = await write("approval", { previous, status: { conditions: [condition("Custom", "False")] } });
    assert.equal(same.next.status.conditions?.[0]?.lastTransitionTime, old);
    assert.equal(same.next.status.conditions?.[0]?.lastUpdateTime, nowText);
    const changed = await write("approval", { previous, status: { conditions: [condition("Custom", "True")] } });
    assert.equal(changed.next.status.conditions?.[0]?.lastTransitionTime, nowText);
    const other = await write("approval", { previous, status: { conditions: [condition("Other", "False")] } });
    assert.equal(other.next.status.conditions?.[0]?.lastTransitionTime, nowText);
  });

  it("that is a decision does not change in a write of the status", async () => {
    for (const decision of ["Approved", "Denied"]) {
      const { next, faults } = await write("status", {
        previous: stored([dated(decision)]),
        status: { conditions: [{ ...condition(decision), reason: "Forged" }, condition("Failed")] },
      });
      assert.deepEqual(faults, []);
      assert.deepEqual(next.status.conditions?.[0], dated(decision));
    }
  });
});

describe("an issued certificate", () => {
  const issued = base64("leaf.pem");
  const approved = [dated("Approved")];

  it("is written once", async () => {
    const first = await write("status", {
      previous: stored(approved),
      status: { conditions: approved, certificate: issued },
    });
    assert.deepEqual(first.faults, []);
    for (const certificate of [base64("chain.pem"), "", undefined]) {
      const status = { conditions: approved, ...(certificate !== undefined && { certificate }) };
      assert.deepEqual((await write("status", { previous: first.next, status })).faults, [
        "status.certificate: Forbidden: updates may not modify existing certificate content",
      ]);
    }
    assert.deepEqual((await write("status", { previous: first.next, status: first.next.status })).faults, []);
  });

  it("must be a certificate", async () => {
    const status = { conditions: approved, certificate: base64("csr-ecdsa.pem") };
    assert.deepEqual((await write("status", { previous: stored(approved), status })).faults, [
      'status.certificate: Invalid value: "<certificate data>": only CERTIFICATE PEM blocks are allowed, found "CERTIFICATE REQUEST"',
    ]);
  });

  it("is read in turns, certificate by certificate", async (t) => {
    let milliseconds = 0;
    t.mock.method(performance, "now", () => (milliseconds += 10));
    const turns = t.mock.method(globalThis, "setImmediate");
    const certificate = Buffer.from(pem("leaf.pem").repeat(5)).toString("base64");
    assert.deepEqual(
      (await write("status", { previous: stored(approved), status: { conditions: approved, certificate } })).faults,
      [],
    );
    assert.equal(turns.mock.callCount(), 5);
  });

  it("can be neither written nor removed through approval", async () => {
    const fresh = await write("approval", {
      previous: stored(),
      status: { conditions: approved, certificate: issued },
    });
    assert.equal(fresh.next.status.certificate, undefined);
    const kept = await write("approval", { previous: stored(approved, issued), status: { conditions: approved } });
    assert.equal(kept.next.status.certificate, issued);
  });
});

describe("a write of the main resource", () => {
  it("changes neither the spec nor the status", () => {
    const previous = stored([dated("Approved")]);
    const next = { ...previous, spec: { request: null, signerName: "bad" }, status: {} };
    const { spec, status } = definition.prepareForUpdate?.(next, { ...context, previous }) ?? next;
    assert.equal(spec, previous.spec);
    assert.equal(status, previous.status);
  });
});

describe("a request's row", () => {
  const row = (conditions: Conditions, certificate?: string) =>
    cells(definition, stored(conditions, certificate)).at(-1);

  it("sums up its state", () => {
    assert.equal(row([]), "Pending");
    assert.equal(row([condition("Approved")], base64("leaf.pem")), "Approved,Issued");
    assert.equal(row([condition("Denied"), condition("Failed")]), "Denied,Failed");
  });

  it("shows signer, requestor and duration", () => {
    const object = prepared(definition, {
      ...request({ expirationSeconds: 3600 }),
      metadata: { creationTimestamp: old },
    });
    assert.deepEqual(cells(definition, object), ["6y31d", "example.com/signer", "alice", "60m", "Pending"]);
  });
});
