import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { encodeElement, encodeSequence } from "../../../src/pki/der/der-writer.ts";
import { encodeDistinguishedName, parseDistinguishedName } from "../../../src/pki/names/distinguished-name.ts";
import { nameConstraintFault, parseNameConstraints } from "../../../src/pki/names/name-constraints.ts";
import { oids } from "../../../src/pki/der/object-identifiers.ts";
import { PkiError } from "../../../src/pki/pki-error.ts";

/** GeneralName choices. */
const [otherName, email, dns, directory, uri, ip] = [0xa0, 0x81, 0x82, 0xa4, 0x86, 0x87];
type GeneralName = readonly [tag: number | undefined, content: string | Buffer];

const encode = ([tag = 0, content]: GeneralName): Buffer => encodeElement(tag, Buffer.from(content));
const constraintsOf = (side: "permitted" | "excluded", ...bases: readonly GeneralName[]): Buffer =>
  encodeSequence(
    encodeElement(side === "permitted" ? 0xa0 : 0xa1, ...bases.map((base) => encodeSequence(encode(base)))),
  );

function allows(constraints: Buffer, names: readonly GeneralName[], commonName = ""): boolean {
  const value = encodeSequence(...names.map(encode));
  const subject = parseDistinguishedName(encodeDistinguishedName({ commonName }));
  const extensions = [{ id: oids.subjectAltName, isCritical: false, value }];
  return nameConstraintFault(parseNameConstraints(constraints), { subject, extensions }) === undefined;
}

const permits = (base: GeneralName, name: GeneralName): boolean => allows(constraintsOf("permitted", base), [name]);
const excludes = (base: GeneralName, name: GeneralName): boolean => !allows(constraintsOf("excluded", base), [name]);

describe("a name constraint", () => {
  it("excludes a wildcard that matches an excluded name (CVE-2025-61727)", () => {
    for (const name of ["*.example.com", "*.EXAMPLE.com", "*.evil.example.com", "evil.example.com"]) {
      assert.ok(excludes([dns, "Evil.example.com"], [dns, name]), name);
    }
    for (const name of ["*.example.org", "*.good.example.com", "*.com", "good.example.com"]) {
      assert.ok(!excludes([dns, "evil.example.com"], [dns, name]), name);
    }
    assert.ok(!excludes([dns, "a.evil.example.com"], [dns, "*.example.com"]), "a wildcard matches one label");
  });

  it("permits a wildcard only when every name that it matches is permitted", () => {
    assert.ok(permits([dns, "example.com"], [dns, "*.example.com"]));
    assert.ok(permits([dns, ".example.com"], [dns, "*.example.com"]));
    assert.ok(!permits([dns, "a.example.com"], [dns, "*.example.com"]));
    assert.ok(!permits([dns, "example.com"], [dns, "*.com"]));
  });

  it("with a leading dot covers only subdomains", () => {
    assert.ok(!permits([dns, ".example.com"], [dns, "example.com"]));
    assert.ok(permits([dns, ".example.com"], [dns, "a.example.com"]));
    assert.ok(!permits([dns, "example.com"], [dns, "notexample.com"]));
  });

  it("that is empty covers every name of its kind", () => {
    const names: GeneralName[] = [
      [dns, "a.example.com"],
      [uri, "https://example.com/"],
      [email, "joe@example.com"],
    ];
    for (const name of names) {
      assert.ok(permits([name[0], ""], name), JSON.stringify(name));
      assert.ok(excludes([name[0], ""], name), JSON.stringify(name));
    }
  });

  it("says nothing about names of another kind", () => {
    const addresses = Buffer.from([10, 0, 0, 0, 255, 0, 0, 0]);
    const pairs: (readonly [base: GeneralName, name: GeneralName])[] = [
      [
        [dns, "example.com"],
        [dns, "a.example.com"],
      ],
      [
        [uri, "example.com"],
        [uri, "https://example.com/"],
      ],
      [
        [uri, ".example.com"],
        [uri, "https://a.example.com/"],
      ],
      [
        [email, "example.com"],
        [email, "joe@example.com"],
      ],
      [
        [email, "joe@example.com"],
        [email, "joe@example.com"],
      ],
      [
        [ip, addresses],
        [ip, Buffer.from([10, 0, 0, 1])],
      ],
      [
        [ip, addresses],
        [ip, Buffer.from("00000000000000000000ffff0a000001", "hex")],
      ],
      [
        [otherName, "x"],
        [otherName, "x"],
      ],
    ];
    for (const [base] of pairs) {
      for (const [, name] of pairs.filter(([other]) => other[0] !== base[0])) {
        const what = JSON.stringify([base, name]);
        assert.ok(!excludes(base, name), what);
        assert.ok(permits(base, name), what);
      }
    }
    assert.ok(allows(constraintsOf("permitted", [otherName, "x"]), [[dns, "a.example.com"]], "alice"));
  });

  it("holds beside those of other kinds", () => {
    const mixed = constraintsOf("excluded", [directory, "x"], [email, "evil.org"], [dns, "evil.org"]);
    assert.ok(!allows(mixed, [], "alice"), "the subject is a directory name");
    assert.ok(!allows(mixed, [[email, "joe@evil.org"]]));
    assert.ok(!allows(mixed, [[dns, "a.evil.org"]]));
    assert.ok(allows(mixed, [[dns, "a.example.com"]]));
    assert.ok(parseNameConstraints(mixed).hasUnknownKinds);
    assert.ok(!parseNameConstraints(constraintsOf("excluded", [dns, "evil.org"])).hasUnknownKinds);
    assert.ok(parseNameConstraints(constraintsOf("permitted", [directory, "x"])).hasUnknownKinds);
    const [permitted, excluded] = [[dns, "example.com"] as const, [dns, "b.example.com"] as const].map((base, side) =>
      encodeElement(0xa0 + side, encodeSequence(encode(base))),
    );
    const both = encodeSequence(permitted ?? Buffer.alloc(0), excluded ?? Buffer.alloc(0));
    assert.deepEqual(
      ["a.example.com", "b.example.com", "*.example.com", "a.example.org"].map((name) => allows(both, [[dns, name]])),
      [true, false, false, false],
    );
  });

  it("refuses names for which it cannot be decided, whichever type it constrains", () => {
    const undecidable: GeneralName[] = [
      [dns, ""],
      [dns, "a.example.com."],
      [dns, ".example.com"],
      [dns, "a..example.com"],
      [dns, "bank.com\0.example.com"],
      [dns, "a b.example.com"],
      [dns, "a*.example.com"],
      [dns, "a.*.example.com"],
      [dns, "10.0.0.1"],
      [dns, `${"a".repeat(64)}.example.com`],
      [dns, Buffer.from("é.example.com", "latin1")],
      [uri, "urn:uuid:1"],
      [uri, "mailto:a@example.com"],
      [uri, "/path"],
      [uri, "https:///path"],
      [uri, "https://10.0.0.1/"],
      [uri, "https://[::1]/"],
      [uri, "https://*.example.com/"],
      [uri, "foo://a:1:2/"],
      [email, "example.com"],
      [email, "@example.com"],
      [email, "a@"],
      [email, "a@b@example.com"],
      [email, ".a@example.com"],
      [email, "a@example.com."],
      [email, "a b@example.com"],
      [email, "a@[10.0.0.1]"],
    ];
    const unrelated = [constraintsOf("excluded", [dns, "other.org"]), constraintsOf("excluded", [email, "other.org"])];
    for (const name of undecidable) {
      for (const constraints of unrelated) assert.ok(!allows(constraints, [name]), JSON.stringify(name));
    }
  });

  it("compares the local part of a mailbox with case, and the host without", () => {
    assert.ok(permits([email, "Joe@example.com"], [email, "Joe@EXAMPLE.com"]));
    assert.ok(!permits([email, "Joe@example.com"], [email, "joe@example.com"]));
    assert.ok(excludes([email, "joe@example.com"], [email, '"joe"@Example.com']));
    assert.ok(excludes([email, "joe@example.com"], [email, "\\joe@example.com"]));
    assert.ok(!excludes([email, "joe@example.com"], [email, "Joe@example.com"]));
    assert.ok(permits([email, "example.com"], [email, "joe@Example.com"]));
    assert.ok(!permits([email, "example.com"], [email, "joe@a.example.com"]));
    assert.ok(permits([email, ".example.com"], [email, "joe@a.example.com"]));
    assert.ok(!permits([email, ".example.com"], [email, "joe@a.example.com.evil.org"]));
    assert.ok(!permits([email, "joe@example.com"], [email, "joe@evil.org"]));
  });

  it("checks the host of a URI, whatever else the URI contains", () => {
    assert.ok(permits([uri, "example.com"], [uri, "https://user@EXAMPLE.com:443/a?b#c"]));
    assert.ok(!permits([uri, "example.com"], [uri, "https://example.com@evil.org/"]));
    assert.ok(!permits([uri, "example.com"], [uri, "https://evil.org/https://example.com"]));
    assert.ok(excludes([uri, ".example.com"], [uri, "spiffe://a.Example.com/ns"]));
  });

  it("that excludes a host of URIs or mailboxes excludes those below it, though one that permits it permits it alone", () => {
    const below = { uri: [uri, "https://a.example.com/"], email: [email, "joe@a.Example.com"] } as const;
    const beside = { uri: [uri, "https://anexample.com/"], email: [email, "joe@anexample.com"] } as const;
    for (const [kind, tag] of [
      ["uri", uri],
      ["email", email],
    ] as const) {
      assert.ok(excludes([tag, "example.com"], below[kind]), kind);
      assert.ok(!permits([tag, "example.com"], below[kind]), kind);
      assert.ok(!excludes([tag, "example.com"], beside[kind]), kind);
    }
  });

  it("permits an IPv4-mapped address only in both forms, and excludes it together with its IPv4 address", () => {
    const range = Buffer.from([10, 0, 0, 0, 255, 0, 0, 0]);
    const mapped = Buffer.from("00000000000000000000ffff0a000001", "hex");
    assert.ok(permits([ip, range], [ip, Buffer.from([10, 0, 0, 1])]));
    assert.ok(!permits([ip, range], [ip, mapped]));
    assert.ok(!permits([ip, Buffer.alloc(32)], [ip, mapped]));
    assert.ok(allows(constraintsOf("permitted", [ip, range], [ip, Buffer.alloc(32)]), [[ip, mapped]]));
    assert.ok(excludes([ip, range], [ip, mapped]));
    assert.ok(excludes([ip, Buffer.alloc(32)], [ip, mapped]));
    assert.ok(!excludes([ip, Buffer.alloc(32)], [ip, Buffer.from([10, 0, 0, 1])]));
    assert.ok(!excludes([ip, Buffer.from([11, 0, 0, 0, 255, 0, 0, 0])], [ip, mapped]));
    for (const start of ["20010db80000000000000000", "20010db8000000000000ffff", "0000000000000000000000ff"]) {
      const unmapped = Buffer.from(`${start}0a000001`, "hex");
      assert.ok(!excludes([ip, range], [ip, unmapped]), `${start} ends like an IPv4 address and is none`);
      assert.ok(permits([ip, Buffer.alloc(32)], [ip, unmapped]), start);
    }
  });

  it("of an unsupported type refuses names of that type, critical or not", () => {
    const directories = constraintsOf("permitted", [directory, encodeSequence()]);
    assert.ok(!allows(directories, [], "system:admin"), "the subject is a directory name");
    assert.ok(allows(directories, [[dns, "a.example.com"]]));
    const others = constraintsOf("excluded", [otherName, "x"]);
    assert.ok(!allows(others, [[otherName, "y"]]));
    assert.ok(allows(others, [[dns, "a.example.com"]], "alice"));
  });

  it("holds for mailboxes in the subject", () => {
    const attribute = encodeSequence(
      encodeElement(0x06, Buffer.from("2a864886f70d010901", "hex")),
      encodeElement(0x16, Buffer.from("joe@evil.org")),
    );
    const subject = parseDistinguishedName(encodeSequence(encodeElement(0x31, attribute)));
    const fault = (constraints: Buffer): string | undefined =>
      nameConstraintFault(parseNameConstraints(constraints), { subject, extensions: [] });
    assert.match(fault(constraintsOf("permitted", [email, "example.com"])) ?? "", /not permitted/);
    assert.match(
      fault(constraintsOf("permitted", [dns, "example.com"], [email, "example.com"])) ?? "",
      /not permitted/,
    );
    assert.equal(fault(constraintsOf("permitted", [dns, "example.com"])), undefined);
    assert.ok(allows(constraintsOf("permitted", [email, "example.com"]), [], "alice"), "a common name is no mailbox");
  });

  it("that cannot be parsed makes its certificate invalid", () => {
    const bases: GeneralName[] = [
      [dns, "."],
      [dns, "..example.com"],
      [dns, "example.com."],
      [dns, "*.example.com"],
      [dns, "a b"],
      [dns, "a@b"],
      [email, "@"],
      [email, "a@"],
      [email, "a@b@c"],
      [uri, "10.0.0.1"],
      [uri, "https://example.com"],
      [uri, "example.com:443"],
      [ip, Buffer.from([10, 0, 0, 0])],
      [ip, Buffer.from([10, 0, 0, 0, 255, 0, 255, 0])],
      [ip, Buffer.from([10, 0, 0, 0, 0, 255, 255, 255])],
    ];
    for (const base of bases) {
      assert.throws(() => parseNameConstraints(constraintsOf("excluded", base)), PkiError, JSON.stringify(base));
    }
    assert.throws(() => parseNameConstraints(encodeSequence()), /empty name constraints/);
    const subtree = (...more: readonly Buffer[]): Buffer => encodeSequence(encode([dns, "a.org"]), ...more);
    const excluded = (...subtrees: readonly Buffer[]): Buffer => encodeElement(0xa1, ...subtrees);
    const minimum = encodeElement(0x80, Buffer.of(0));
    assert.ok(parseNameConstraints(encodeSequence(excluded(subtree()))));
    for (const value of [
      encodeSequence(excluded(subtree(minimum))),
      encodeSequence(excluded(subtree()), minimum),
      Buffer.concat([encodeSequence(excluded(subtree())), minimum]),
    ]) {
      assert.throws(() => parseNameConstraints(value), /trailing data/);
    }
  });

  it("is compared with a limited number of names", () => {
    const bases = Array.from({ length: 1000 }, (_, index): GeneralName => [dns, `a${index}.org`]);
    const names = Array.from({ length: 1000 }, (_, index): GeneralName => [dns, `a${index}.com`]);
    assert.ok(!allows(constraintsOf("excluded", ...bases), names));
    assert.ok(allows(constraintsOf("excluded", ...bases), names.slice(0, 200)));
  });

  it("agrees with the set of hosts that it describes", () => {
    const labels = ["a", "b"] as const;
    /** Every host of one to four labels. */
    const hosts: string[] = [...labels];
    for (let index = 0; hosts.length < 30; index++) hosts.push(...labels.map((label) => `${label}.${hosts[index]}`));
    const host = fc.array(fc.constantFrom(...labels), { minLength: 1, maxLength: 3 }).map((all) => all.join("."));
    const base = fc.tuple(fc.constantFrom("", "."), host).map((parts) => parts.join(""));
    const name = fc.tuple(fc.constantFrom("", "*."), host).map((parts) => parts.join(""));
    const covers = (one: string, candidate: string): boolean =>
      `.${candidate}`.endsWith(one.startsWith(".") ? one : `.${one}`) && candidate.length >= one.length;
    fc.assert(
      fc.property(base, name, (one, presented) => {
        const meant = hosts.filter((candidate) =>
          presented.startsWith("*.")
            ? candidate.slice(candidate.indexOf(".") + 1) === presented.slice(2) && candidate.includes(".")
            : candidate === presented,
        );
        assert.equal(
          permits([dns, one], [dns, presented]),
          meant.every((each) => covers(one, each)),
        );
        assert.equal(
          excludes([dns, one], [dns, presented]),
          meant.some((each) => covers(one, each)),
        );
      }),
    );
  });

  it("never throws for names of any octets", () => {
    const tag = fc.constantFrom(otherName, email, dns, directory, uri);
    const content = fc.oneof(fc.string(), fc.webUrl(), fc.emailAddress()).map((text) => Buffer.from(text));
    const constraints = constraintsOf("excluded", [dns, ""], [email, "a@b"], [uri, "c"], [otherName, ""]);
    fc.assert(fc.property(tag, content, (one, octets) => void allows(constraints, [[one, octets]])));
  });
});
