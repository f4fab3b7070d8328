import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { namesFor } from "../../../src/machinery/api/names.ts";
import { entriesByPrefix } from "../../../src/server/encryption/encrypted-resources.ts";
import { parseEncryptionConfiguration } from "../../../src/server/encryption/encryption-configuration.ts";
import { storedResources } from "../../../src/server/served-kinds.ts";
import { withUnknownFields } from "../../machinery/command-line/with-unknown-fields.ts";

const secret = Buffer.alloc(32, 7).toString("base64");
const aesgcm = { aesgcm: { keys: [{ name: "key1", secret }] } };
const configurationOf = (...entries: object[]): string =>
  JSON.stringify({ apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration", resources: entries });
const withResources = (...resources: string[]): string => configurationOf({ resources, providers: [aesgcm] });
const withProviders = (...providers: object[]): string => configurationOf({ resources: ["secrets"], providers });
const kms = (fields: object): string =>
  withProviders({ kms: { apiVersion: "v2", name: "vault", endpoint: "unix:///run/kms.sock", ...fields } });

describe("an encryption configuration", () => {
  it("of Kubernetes' documentation is read, in YAML, with every provider", () => {
    const parsed = parseEncryptionConfiguration(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - resources: [secrets, configmaps]
    providers:
      - identity: {}
      - aesgcm: {keys: [{name: key1, secret: ${Buffer.alloc(16).toString("base64")}}, {name: key2, secret: ${secret}}]}
      - aescbc: {keys: [{name: key1, secret: ${Buffer.alloc(24).toString("base64")}}]}
      - secretbox: {keys: [{name: key1, secret: ${secret}}]}
      - aesgcmderived: {keys: [{name: key1, secret: ${secret}}]}
      - kms: {apiVersion: v2, name: myKmsPluginFoo, endpoint: unix:///tmp/socketfile.sock, timeout: 3s}
  - resources: [events]
    providers: [identity: {}]
  - resources: ["*.certificates.k8s.io"]
    providers: [secretbox: {keys: [{name: key2, secret: ${secret}}]}]
  - resources: ["*.*"]
    providers: [aescbc: {keys: [{name: key3, secret: ${secret}}]}]
`);
    assert.deepEqual(
      parsed[0]?.providers.map(({ type }) => type),
      ["identity", "aesgcm", "aescbc", "secretbox", "aesgcmderived", "kms"],
    );
    assert.deepEqual(parsed[0]?.providers[5], {
      type: "kms",
      name: "myKmsPluginFoo",
      endpoint: "unix:///tmp/socketfile.sock",
      timeoutMilliseconds: 3000,
    });
    assert.equal(parsed.length, 4);
  });

  it("may use an alias, as Kubernetes' may", () => {
    const parsed = parseEncryptionConfiguration(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
  - {resources: [secrets], providers: &providers [{identity: {}}]}
  - {resources: [events], providers: *providers}
`);
    assert.deepEqual(
      parsed.map(({ providers }) => providers),
      [[{ type: "identity" }], [{ type: "identity" }]],
    );
  });

  it("may let a plugin take longer than a timer waits", () => {
    const [entry] = parseEncryptionConfiguration(kms({ timeout: "30d" }));
    const [provider] = entry?.providers ?? [];
    assert.equal(provider?.type === "kms" && provider.timeoutMilliseconds, 2 ** 31 - 1);
  });

  it("may have line breaks in its keys, as a block of YAML has", () => {
    const providersWith = (text: string): unknown => {
      const keys = [{ name: "a", secret: text }];
      return parseEncryptionConfiguration(withProviders({ aesgcm: { keys } }))[0]?.providers;
    };
    const half = secret.length / 2;
    assert.deepEqual(providersWith(`${secret.slice(0, half)}\r\n${secret.slice(half)}\n`), providersWith(secret));
  });

  it("is refused with a field that there is not, wherever it is", () => {
    const keys = [{ name: "key1", secret }];
    const plugin = { apiVersion: "v2", name: "vault", endpoint: "unix:///run/kms.sock" };
    const whole = {
      apiVersion: "apiserver.config.k8s.io/v1",
      kind: "EncryptionConfiguration",
      resources: [{ resources: ["secrets"], providers: [{ aescbc: { keys } }, { kms: plugin }, { identity: {} }] }],
    };
    parseEncryptionConfiguration(JSON.stringify(whole));
    for (const { path, content } of withUnknownFields(whole)) {
      assert.throws(() => parseEncryptionConfiguration(JSON.stringify(content)), { message: `${path}: unknown field` });
    }
  });

  const refused: readonly [what: string, text: string, message: RegExp][] = [
    [
      "with an alias that has no anchor",
      `secret: *${secret.replace(/=*$/, "")}`,
      /: it is not YAML \(an alias without its anchor/,
    ],
    ["with a field twice", `secret: a\nsecret: ${secret}`, /: it has a field twice \(line 2\); remove one$/],
    ["that is no YAML", `secret: "${secret}`, /: it is not YAML \(line 1\)$/],
    [
      "of another version",
      '{"apiVersion":"v1","kind":"EncryptionConfiguration"}',
      /apiVersion: must be apiserver.config/,
    ],
    ["without entries", configurationOf(), /resources: at least one of resources is required/],
    [
      "with an unknown field",
      configurationOf({ resources: ["secrets"], providers: [aesgcm], extra: 1 }),
      /extra: unknown/,
    ],
    ["with two providers in one element", withProviders({ identity: {}, ...aesgcm }), /more than one provider/],
    ["with no known provider", withProviders({ rot13: {} }), /none of the providers identity, kms, aesgcm/],
    [
      "with a key of a wrong length",
      withProviders({ secretbox: { keys: [{ name: "a", secret: "c2hvcnQ=" }] } }),
      /got 5 bytes, expected 32/,
    ],
    [
      "with a key that is no base64",
      withProviders({ aesgcm: { keys: [{ name: "a", secret: "***" }] } }),
      /must be base64/,
    ],
    [
      "with two keys of one name",
      withProviders({
        aesgcm: {
          keys: [
            { name: "a", secret },
            { name: "a", secret },
          ],
        },
      }),
      /same name/,
    ],
    [
      "with a colon in a key's name",
      withProviders({ aesgcm: { keys: [{ name: "a:b", secret }] } }),
      /must not contain ':'/,
    ],
    ["with a key without a name", withProviders({ aesgcm: { keys: [{ secret }] } }), /name is a mandatory field/],
    ["for KMS v1", kms({ apiVersion: "v1" }), /only v2 is supported.*set apiVersion: v2/],
    [
      "for a KMS without a version, which upstream takes for v1",
      kms({ apiVersion: undefined }),
      /only v2 is supported/,
    ],
    ["with a cache size for KMS v2", kms({ cachesize: 100 }), /cachesize is not supported in v2/],
    ["for a KMS that is no socket", kms({ endpoint: "https://kms:443" }), /unix:\/\/\/path/],
    [
      "for a KMS whose path is no socket's",
      kms({ endpoint: `unix:///${"x".repeat(107)}` }),
      /longer than 10[37] bytes/,
    ],
    ["with a timeout of nothing", kms({ timeout: "0s" }), /positive duration/],
    [
      "with two KMS of one name",
      configurationOf(
        ...["secrets", "configmaps"].map((one) => ({
          resources: [one],
          providers: [{ kms: { apiVersion: "v2", name: "vault", endpoint: "unix:///a" } }],
        })),
      ),
      /duplicate KMS provider name vault/,
    ],
    ["of everything and more", withResources("*.*", "secrets"), /overlapping resources/],
    ["of the core group and one of it", withResources("secrets", "*."), /overlapping resources/],
    ["of a group and one of it", withResources("leases.coordination.k8s.io", "*.coordination.k8s.io"), /overlapping/],
    ["of one resource twice", withResources("secrets", "secrets"), /cannot be specified multiple times/],
    ["of one resource in two spellings", withResources("secrets", "secrets."), /cannot be specified multiple times/],
    ["of a star", withResources("*"), /use '\*\.' to encrypt/],
    ["of a resource of all groups", withResources("leases.*"), /across groups is not supported/],
    ["of the extensions", withResources("deployments.extensions"), /has been removed/],
    ["of capital letters", withResources("Secrets"), /capital letters/],
  ];
  for (const [what, text, message] of refused) {
    it(`${what} is refused`, () => {
      assert.throws(() => parseEncryptionConfiguration(text), message);
    });
  }

  it("is never quoted in error messages, because it contains keys", () => {
    for (const [what, text] of refused) {
      assert.throws(
        () => parseEncryptionConfiguration(text),
        (error) => !String(error).includes(secret.slice(0, 8)),
        what,
      );
    }
  });
});

describe("the resources of an encryption configuration", () => {
  const names = namesFor("platform", { hasUpstreamNames: true });
  const definitions = storedResources(names);
  const chosen = (...lists: string[][]): Record<string, number[]> => {
    const entries = lists.map((resources, index) => ({ resources, index }));
    const { byPrefix } = entriesByPrefix(entries, { names, definitions });
    return Object.fromEntries([...byPrefix].map(([prefix, found]) => [prefix, found.map(({ index }) => index)]));
  };

  it("mean the same in both spellings of their group", () => {
    for (const group of ["certificates.k8s.io", "certificates.platform.io"]) {
      assert.deepEqual(chosen([`certificatesigningrequests.${group}`]), {
        "/registry/certificatesigningrequests.certificates.platform.io/": [0],
      });
    }
  });

  it("are matched by the entry that names them, else by that of their group, else by that of all resources", () => {
    const found = chosen(["*.*"], ["*."], ["secrets"], ["secrets"], ["*.coordination.k8s.io"]);
    assert.deepEqual(found["/registry/secrets/"], [2, 3]);
    assert.deepEqual(found["/registry/configmaps/"], [1]);
    assert.deepEqual(found["/registry/leases.coordination.platform.io/"], [4]);
    assert.deepEqual(found["/registry/roles.rbac.authorization.platform.io/"], [0]);
    assert.equal(Object.keys(found).length, definitions.length);
  });

  it("are reported when they are not served", () => {
    const entries = [{ resources: ["secrets", "deployments.apps"] }];
    assert.deepEqual(entriesByPrefix(entries, { names, definitions }).unknown, ["deployments.apps"]);
  });
});
