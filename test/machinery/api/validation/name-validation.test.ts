import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  configKeyFaults,
  dnsLabelFaults,
  dnsSubdomainFaults,
  pathSegmentFaults,
  validateDnsLabelName,
  validateDnsSubdomainName,
  validatePathSegmentName,
} from "../../../../src/machinery/api/validation/name-validation.ts";

const label = /^a lowercase RFC 1123 label must consist/;
const subdomain = /^a lowercase RFC 1123 subdomain must consist/;

/** Names and their faults. An empty list means that the name is valid. */
const table: Readonly<Record<string, readonly (readonly [string, (name: string) => string[], readonly RegExp[]])[]>> = {
  "a DNS label": [
    ["a", dnsLabelFaults, []],
    ["a-1", dnsLabelFaults, []],
    ["x".repeat(63), dnsLabelFaults, []],
    ["x".repeat(64), dnsLabelFaults, [/^must be no more than 63 characters$/]],
    ["a.b", dnsLabelFaults, [/^must not contain dots$/]],
    ["", dnsLabelFaults, [label]],
    ["-a", dnsLabelFaults, [label]],
    ["A", dnsLabelFaults, [label]],
    ["é".repeat(32), dnsLabelFaults, [/63 characters/, label]],
  ],
  "a DNS subdomain": [
    ["a.b-c.d", dnsSubdomainFaults, []],
    ["x".repeat(253), dnsSubdomainFaults, []],
    ["x".repeat(254), dnsSubdomainFaults, [/^must be no more than 253 characters$/]],
    ["a..b", dnsSubdomainFaults, [subdomain]],
    ["under_score", dnsSubdomainFaults, [subdomain]],
    ["a\n", dnsSubdomainFaults, [subdomain]],
    ["__proto__", dnsSubdomainFaults, [subdomain]],
  ],
  "a key of data": [
    ["tls.crt", configKeyFaults, []],
    ["__proto__", configKeyFaults, []],
    ["a b", configKeyFaults, [/^a valid config key/]],
    [".", configKeyFaults, [/^must not be '\.'$/]],
    ["..", configKeyFaults, [/^must not be '\.\.'$/]],
    ["..a", configKeyFaults, [/^must not start with '\.\.'$/]],
  ],
  "a segment of a path": [
    ["Any:thing.GOES_", pathSegmentFaults, []],
    [".", pathSegmentFaults, [/^may not be '\.'$/]],
    [".", (name) => validatePathSegmentName(name, { isPrefix: true }), []],
    ["a/b%", pathSegmentFaults, [/contain '\/'/, /contain '%'/]],
  ],
  "a prefix of a name": [
    ["gen-", (name) => validateDnsSubdomainName(name, { isPrefix: true }), []],
    ["gen-", (name) => validateDnsLabelName(name, { isPrefix: true }), []],
    ["gen-", dnsLabelFaults, [label]],
    ["-", (name) => validateDnsLabelName(name, { isPrefix: true }), [label]],
  ],
};

for (const [what, rows] of Object.entries(table)) {
  describe(what, () => {
    for (const [name, faultsOf, expected] of rows) {
      it(`${JSON.stringify(name.slice(0, 20))} has ${expected.length} faults`, () => {
        const faults = faultsOf(name);
        assert.equal(faults.length, expected.length, faults.join("\n"));
        for (const [index, pattern] of expected.entries()) assert.match(faults[index] ?? "", pattern);
      });
    }
  });
}

describe("the message about an invalid name", () => {
  it("is upstream's, including its commas", () => {
    assert.deepEqual(dnsLabelFaults("A"), [
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
        "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    ]);
  });

  it("takes no longer for a long name than for a short one", () => {
    const name = `${"a-".repeat(500_000)}!`;
    assert.equal(dnsSubdomainFaults(name).length, 2);
  });
});
