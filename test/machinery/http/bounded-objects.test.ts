import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { HttpRequest, HttpResponse } from "../../../src/machinery/api/http-message.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

const maximumBytes = 1_572_864;
const collection = "/api/v1/namespaces/default/configmaps";

interface Answer {
  readonly status: number;
  readonly object: {
    readonly reason?: string;
    readonly message?: string;
    readonly details?: { readonly causes?: readonly { readonly field: string }[] };
    readonly metadata: { readonly annotations?: Readonly<Record<string, string>>; readonly continue?: string };
    readonly items?: readonly unknown[];
    readonly data?: Readonly<Record<string, string>>;
  };
}

interface Sent {
  readonly body?: string | Buffer;
  readonly type?: string;
  readonly signal?: AbortSignal;
}

for (const storage of ["memory", "lmdb"] as const) {
  describe(`a stored object (${storage})`, () => {
    let server: TestServer;
    const request = (method: string, target: string, { body = "", type, signal }: Sent): HttpRequest => {
      const [path = "", query = ""] = target.split("?");
      return {
        method,
        path,
        query,
        headers: { authorization: `Bearer ${server.adminToken}`, "content-type": type ?? "application/json" },
        connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
        readBody: async () => Buffer.from(body),
        signal: signal ?? new AbortController().signal,
      };
    };
    const send = async (method: string, target: string, sent: Sent = {}): Promise<Answer> => {
      const response: HttpResponse = await server.handler(request(method, target, sent));
      return { status: response.status, object: JSON.parse(String(response.body)) as Answer["object"] };
    };
    const configMap = (name: string, more: object = {}): string =>
      JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, ...more });
    const role = (name: string, namesBytes: number): string =>
      JSON.stringify({
        apiVersion: "rbac.authorization.platform.io/v1",
        kind: "Role",
        metadata: { name },
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"], resourceNames: ["a".repeat(namesBytes)] }],
      });
    const roles = "/apis/rbac.authorization.platform.io/v1/namespaces/default/roles";

    before(async () => {
      server = await startTestServer({ storage });
    });

    it("is at most 1.5 MiB after create, update, patch and apply, also in a dry run", async () => {
      assert.equal((await send("POST", roles, { body: role("large", maximumBytes) })).status, 413);
      assert.equal((await send("POST", `${roles}?dryRun=All`, { body: role("large", maximumBytes) })).status, 413);
      assert.equal((await send("POST", roles, { body: role("large", 1_000_000) })).status, 201);
      assert.equal((await send("PUT", `${roles}/large`, { body: role("large", maximumBytes) })).status, 413);
      const rule = { apiGroups: [""], resources: ["pods"], verbs: ["get"], resourceNames: ["b".repeat(600_000)] };
      const add = JSON.stringify([{ op: "add", path: "/rules/-", value: rule }]);
      const copy = JSON.stringify([{ op: "copy", from: "/rules/0", path: "/rules/1" }]);
      for (const body of [add, copy]) {
        const { status, object } = await send("PATCH", `${roles}/large`, { body, type: "application/json-patch+json" });
        assert.deepEqual([status, object.reason], [413, "RequestEntityTooLarge"]);
      }
      const merged = JSON.stringify({ rules: [rule, rule, rule] });
      for (const type of ["application/merge-patch+json", "application/strategic-merge-patch+json"]) {
        assert.equal((await send("PATCH", `${roles}/large`, { body: merged, type })).status, 413);
      }
      const applied = { body: role("large", maximumBytes), type: "application/apply-patch+yaml" };
      assert.equal((await send("PATCH", `${roles}/large?fieldManager=m&force=true`, applied)).status, 413);
      assert.equal((await send("DELETE", `${roles}/large`)).status, 200);
    });

    it("has a name of at most as many bytes as every backend's keys allow", async () => {
      const prefix = "/registry/roles.rbac.authorization.platform.io/default/".length;
      const longest = "r".repeat(1977 - prefix);
      assert.equal((await send("POST", roles, { body: role(longest, 1) })).status, 201);
      assert.equal((await send("GET", `${roles}/${longest}`)).status, 200);
      const { object: page } = await send("GET", `${roles}?limit=1`);
      assert.equal((await send("GET", `${roles}?limit=1&continue=${page.metadata.continue ?? ""}`)).status, 200);
      for (const name of [`${longest}r`, "é".repeat(1000), "r".repeat(100_000)]) {
        const { status, object } = await send("POST", roles, { body: role(name, 1) });
        assert.deepEqual([status, object.details?.causes?.[0]?.field], [422, "metadata.name"]);
        const target = `${roles}/${encodeURIComponent(name)}`;
        assert.equal((await send("GET", target)).status, 404);
        assert.equal((await send("DELETE", target)).status, 404);
        assert.equal((await send("PUT", target, { body: role(name, 1) })).status, 422);
        const applied = { body: role(name, 1), type: "application/apply-patch+yaml" };
        assert.equal((await send("PATCH", `${target}?fieldManager=m`, applied)).status, 422);
        assert.deepEqual(
          (await send("GET", `${roles}?fieldSelector=metadata.name%3D${encodeURIComponent(name)}`)).object.items,
          [],
        );
      }
      const token = Buffer.from(JSON.stringify({ v: "meta.k8s.io/v1", rv: 2, start: "default/".padEnd(5000, "x") }));
      assert.equal((await send("GET", `${roles}?limit=1&continue=${token.toString("base64url")}`)).status, 400);
      assert.equal(
        (
          await send(
            "GET",
            `/api/v1/namespaces/${"n".repeat(5000)}/configmaps?resourceVersion=2&resourceVersionMatch=Exact`,
          )
        ).status,
        200,
      );
    });

    it("is well-formed Unicode: half a surrogate pair and bytes that are not UTF-8 become U+FFFD", async () => {
      const half =
        '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"half","annotations":{"a":"x\\ud800y"}},"data":{"k":"\\udc00"}}';
      assert.equal((await send("POST", collection, { body: half })).object.data?.["k"], "\ufffd");
      const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: half-yaml}\ndata: {k: "\\ud800"}\n';
      assert.equal(
        (await send("POST", collection, { body: yaml, type: "application/yaml" })).object.data?.["k"],
        "\ufffd",
      );
      const bytes = Buffer.from(configMap("bytes", { data: { k: "?" } })).map((byte) => (byte === 0x3f ? 0xff : byte));
      assert.equal((await send("POST", collection, { body: Buffer.from(bytes) })).object.data?.["k"], "\ufffd");
      const patches = {
        "application/merge-patch+json": '{"metadata":{"annotations":{"m":"\\ud800"}}}',
        "application/strategic-merge-patch+json": '{"metadata":{"annotations":{"m":"\\ud800"}}}',
        "application/json-patch+json": '[{"op":"add","path":"/metadata/annotations/m","value":"\\ud800"}]',
        "application/apply-patch+yaml":
          '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"half","annotations":{"m":"\\ud800"}}}',
      };
      for (const [type, body] of Object.entries(patches)) {
        const { object } = await send("PATCH", `${collection}/half?fieldManager=m`, { body, type });
        assert.equal(object.metadata.annotations?.["m"], "\ufffd", type);
      }
      assert.ok(!JSON.stringify(await send("GET", collection)).includes("\\ud"));
    });

    it("is not written of YAML in another character set, whose letters would be lost", async () => {
      const latin = Buffer.from(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: latin}\ndata: {k: caf\u00e9}\n",
        "latin1",
      );
      const created = await send("POST", collection, { body: latin, type: "application/yaml" });
      assert.equal(created.status, 400);
      assert.match(String(created.object.message), /: yaml: the text is not UTF-8 \(/);
      const type = "application/apply-patch+yaml";
      const applied = await send("PATCH", `${collection}/latin?fieldManager=m`, { body: latin, type });
      assert.equal(applied.status, 400);
      assert.match(String(applied.object.message), /: yaml: the text is not UTF-8$/);
      assert.equal((await send("GET", `${collection}/latin`)).status, 404);
    });

    it("is not written for a request that has ended before its write begins", async () => {
      const over = AbortSignal.abort();
      assert.equal((await send("POST", collection, { body: configMap("late"), signal: over })).status, 504);
      assert.equal((await send("GET", `${collection}/late`)).status, 404);
      assert.equal((await send("POST", collection, { body: configMap("kept") })).status, 201);
      const labels = JSON.stringify({ metadata: { labels: { a: "b" } } });
      const patch = { body: labels, type: "application/merge-patch+json", signal: over };
      assert.equal((await send("PATCH", `${collection}/kept`, patch)).status, 504);
      assert.equal(
        (await send("PUT", `${collection}/kept`, { body: configMap("kept", { data: { a: "b" } }), signal: over }))
          .status,
        504,
      );
      assert.equal((await send("DELETE", `${collection}/kept`, { signal: over })).status, 504);
      assert.equal((await send("DELETE", collection, { signal: over })).status, 504);
      assert.deepEqual((await send("GET", `${collection}/kept`)).object.data, undefined);
    });

    it("is not written for a request that ends while its write waits for its turn", async () => {
      const controller = new AbortController();
      const others = Array.from({ length: 20 }, (_, index) =>
        send("POST", collection, { body: configMap(`turn-${index}`) }),
      );
      const late = send("POST", collection, { body: configMap("turn-late"), signal: controller.signal });
      controller.abort();
      assert.deepEqual(new Set((await Promise.all(others)).map(({ status }) => status)), new Set([201]));
      assert.equal((await late).status, 504);
      assert.equal((await send("GET", `${collection}/turn-late`)).status, 404);
    });
  });
}
