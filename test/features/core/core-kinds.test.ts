import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { platformNames } from "../../../src/machinery/api/names.ts";
import { configMaps } from "../../../src/features/core/config-maps.ts";
import type { ConfigMap } from "../../../src/features/core/config-maps.ts";
import { namespaces } from "../../../src/features/core/namespaces/namespaces.ts";
import type { Namespace } from "../../../src/features/core/namespaces/namespaces.ts";
import { secrets } from "../../../src/features/core/secrets.ts";
import type { Secret } from "../../../src/features/core/secrets.ts";
import { serviceAccounts } from "../../../src/features/accounts/service-accounts.ts";
import type { ServiceAccount } from "../../../src/features/accounts/service-accounts.ts";
import { turnsDuringRequest } from "../../machinery/scheduling/turns-during-request.ts";
import {
  cells,
  context,
  faultsOfChange,
  faultsOfNew,
  messages,
  names,
  nowText,
  prepared,
  startedFaultsOfChange,
  startedFaultsOfNew,
} from "../resource-scene.ts";

const meta = (kind: string) => ({ apiVersion: "v1", kind, metadata: { name: "a" } });
const base64 = (text: string): string => Buffer.from(text).toString("base64");

describe("a service account", () => {
  const definition = serviceAccounts(names);
  const account = (more: Partial<ServiceAccount> = {}): ServiceAccount => ({ ...meta("ServiceAccount"), ...more });
  const annotated = account({
    metadata: { name: "a", annotations: { "platform.io/enforce-mountable-secrets": "true" } },
  });

  it("keeps only the names of its secrets", () => {
    const { secrets: kept } = prepared(definition, account({ secrets: [{ name: "s", uid: "u", kind: "Secret" }, {}] }));
    assert.deepEqual(kept, [{ name: "s" }, {}]);
  });

  it("warns of the deprecated annotation when it is new", () => {
    const warning =
      "metadata.annotations[platform.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets";
    assert.deepEqual(definition.warningsOnCreate?.(annotated), [warning]);
    assert.deepEqual(definition.warningsOnUpdate?.(annotated, { ...context, previous: account() }), [warning]);
    assert.deepEqual(definition.warningsOnUpdate?.(annotated, { ...context, previous: annotated }), []);
    assert.deepEqual(definition.warningsOnCreate?.(account()), []);
  });
});

describe("a namespace", () => {
  const definition = namespaces(names);
  const created = prepared(definition, {
    ...meta("Namespace"),
    metadata: { name: "a", labels: { own: "label", "platform.io/metadata.name": "wrong" } },
    spec: {},
    status: { phase: "Terminating" },
  });

  it("is active, labelled with its name and held by its contents", () => {
    assert.deepEqual(created.status, { phase: "Active" });
    assert.deepEqual(created.spec, { finalizers: ["kubernetes"] });
    assert.deepEqual(created.metadata.labels, { own: "label", "platform.io/metadata.name": "a" });
  });

  it("is terminating until its last finalizer is gone", () => {
    const terminating = definition.prepareForDelete?.(created, context);
    assert.equal(terminating?.status.phase, "Terminating");
    assert.equal(terminating.metadata.deletionTimestamp, nowText);
    assert.equal(definition.prepareForDelete?.(terminating, context), terminating);
    assert.equal(definition.prepareForDelete?.({ ...terminating, spec: {} }, context), undefined);
  });

  it("changes finalizers through finalize only, and its phase through status only", () => {
    const wanted: Namespace = { ...created, spec: {}, status: { phase: "Terminating" } };
    const { finalize, status } = definition.subresources ?? {};
    assert.ok(finalize?.type === "update" && status?.type === "update");
    const main = definition.prepareForUpdate?.(wanted, { ...context, previous: created });
    assert.deepEqual([main?.spec, main?.status], [created.spec, created.status]);
    const finalized = finalize.prepareForUpdate(wanted, { ...context, previous: created });
    assert.deepEqual([finalized.spec, finalized.status], [{}, created.status]);
    const reported = status.prepareForUpdate(wanted, { ...context, previous: created });
    assert.deepEqual([reported.spec, reported.status], [created.spec, { phase: "Terminating" }]);
    assert.deepEqual(messages(status.validateUpdate?.(reported, { ...context, previous: created })), [
      "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
    ]);
  });
});

describe("a secret", () => {
  const definition = secrets(names);
  const secret = (more: Partial<Secret> = {}): Secret => ({ ...meta("Secret"), type: "Opaque", ...more });

  it("prefers text to bytes of the same key, and accepts every valid key", () => {
    const { data, stringData } = prepared(
      definition,
      secret({
        data: { b: base64("lost") },
        stringData: JSON.parse('{"a":"text","b":"wins","__proto__":"kept"}') as Record<string, string>,
      }),
    );
    assert.equal(stringData, undefined);
    assert.deepEqual(Object.entries(data ?? {}), [
      ["b", base64("wins")],
      ["a", base64("text")],
      ["__proto__", base64("kept")],
    ]);
  });

  const types: readonly (readonly [string, Partial<Secret>, string[]])[] = [
    ["any other type", { type: "example.com/t" }, []],
    ["a bootstrap token", { type: "bootstrap.platform.io/token" }, []],
    ["TLS without a key", { type: "platform.io/tls", data: { "tls.crt": "" } }, ["data[tls.key]: Required value"]],
    ["basic authentication with a password", { type: "platform.io/basic-auth", data: { password: "" } }, []],
    [
      "basic authentication with nothing",
      { type: "platform.io/basic-auth" },
      ["data[username]: Required value", "data[password]: Required value"],
    ],
    [
      "an empty SSH key",
      { type: "platform.io/ssh-auth", data: { "ssh-privatekey": "" } },
      ["data[ssh-privatekey]: Required value"],
    ],
    [
      "a docker configuration that is no object",
      { type: "platform.io/dockerconfigjson", data: { ".dockerconfigjson": base64("[]") } },
      [
        'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": json: cannot unmarshal array into Go value of type map[string]interface {}',
      ],
    ],
    [
      "an old docker configuration that is no JSON",
      { type: "platform.io/dockercfg", data: { ".dockercfg": base64("x") } },
      [
        `data[.dockercfg]: Invalid value: "<secret contents redacted>": invalid character 'x' looking for beginning of value`,
      ],
    ],
    [
      "a docker configuration that is empty",
      { type: "platform.io/dockerconfigjson", data: { ".dockerconfigjson": "" } },
      ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": unexpected end of JSON input'],
    ],
    [
      "a docker configuration that is null, as upstream",
      { type: "platform.io/dockerconfigjson", data: { ".dockerconfigjson": base64("null") } },
      [],
    ],
    [
      "a token of no account",
      { type: "platform.io/service-account-token" },
      ["metadata.annotations[platform.io/service-account.name]: Required value"],
    ],
  ];
  for (const [what, more, expected] of types) {
    it(`of ${what} has ${expected.length} faults`, async () => {
      assert.deepEqual(await startedFaultsOfNew(definition, secret(more)), expected);
    });
  }

  it("cannot change its type, nor anything once it is immutable", async () => {
    const previous = secret({ immutable: true, data: { a: base64("1") } });
    assert.deepEqual(
      await startedFaultsOfChange(definition, secret({ type: "other", data: { a: base64("2") } }), previous),
      [
        'type: Invalid value: "other": field is immutable',
        "immutable: Forbidden: field is immutable when `immutable` is set",
        "data: Forbidden: field is immutable when `immutable` is set",
      ],
    );
    assert.deepEqual(await startedFaultsOfChange(definition, { ...previous }, previous), []);
  });

  it("is at most 1 MiB", async () => {
    const data = { a: Buffer.alloc(1024 * 1024).toString("base64") };
    assert.deepEqual(await startedFaultsOfNew(definition, secret({ data })), []);
    assert.deepEqual(await startedFaultsOfNew(definition, secret({ data: { ...data, b: base64("x") } })), [
      "data: Too long: may not be more than 1048576 bytes",
    ]);
  });

  it("shows the number of its keys, not their values", () => {
    assert.deepEqual(cells(definition, secret({ data: { a: base64("x"), b: "" } })), ["Opaque", 2, "<unknown>"]);
  });

  it("lets others have their turn while a long docker configuration is read", async (context) => {
    const configuration = base64(`{"auths":[${"1.0,".repeat(20_000)}1]`);
    const data = { ".dockerconfigjson": configuration };
    const faults = (): Promise<string[]> =>
      startedFaultsOfNew(definition, secret({ type: "platform.io/dockerconfigjson", data }));
    const { result, turns } = await turnsDuringRequest(context, faults);
    assert.match(result[0] ?? "", /invalid character ']'|unexpected end of JSON input/);
    assert.ok(turns >= 20, `others had ${turns} turns`);
  });
});

describe("a config map", () => {
  const definition = configMaps(platformNames);
  const map = (more: Partial<ConfigMap> = {}): ConfigMap => ({ ...meta("ConfigMap"), ...more });

  it("has no key twice", () => {
    assert.deepEqual(faultsOfNew(definition, map({ data: { a: "1" }, binaryData: { a: "" } })), [
      'data[a]: Invalid value: "a": duplicate of key present in binaryData',
    ]);
  });

  it("cannot change once it is immutable, except its metadata", () => {
    const previous = map({ immutable: true, data: { a: "1" } });
    assert.deepEqual(faultsOfChange(definition, { ...previous, data: { a: "2" } }, previous), [
      "data: Forbidden: field is immutable when `immutable` is set",
    ]);
    assert.deepEqual(faultsOfChange(definition, { ...previous, metadata: { labels: { x: "y" } } }, previous), []);
  });
});
