import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, describe, it } from "node:test";
import type { Profile } from "../../../src/machinery/api/names.ts";
import {
  apiGroupDiscoveryListSchema,
  apiGroupListSchema,
  apiGroupSchema,
  apiResourceListSchema,
  apiVersionsSchema,
} from "../../../src/machinery/http/routes/discovery-schemas.ts";
import { compileProtobuf } from "../../../src/machinery/schema/protobuf/protobuf.ts";
import { decodeEnvelope } from "../../../src/machinery/schema/protobuf/protobuf-envelope.ts";
import type { ObjectSchema } from "../../../src/machinery/schema/schema.ts";
import { parse as parseYaml } from "yaml";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";
import { InProcess } from "../in-process.ts";

const aggregated = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

interface Index {
  readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
}
interface Discovery {
  readonly kind: string;
  readonly items: readonly { readonly metadata: { readonly name?: string } }[];
}

describe("discovery and OpenAPI", () => {
  const profiles: readonly Profile[] = ["platform", "kubernetes"];
  const servers = new Map<Profile, TestServer>();
  const apiOf = (profile: Profile): InProcess => {
    const server = servers.get(profile);
    assert.ok(server);
    return new InProcess(server);
  };
  before(async () => {
    for (const profile of profiles) servers.set(profile, await startTestServer({ profile }));
  });
  after(async () => {
    for (const server of servers.values()) await server.stop();
  });

  for (const profile of profiles) {
    it(`answer 304 to clients of ${profile} that have the current document`, async () => {
      const api = apiOf(profile);
      const documents: readonly (readonly [string, Record<string, string>])[] = [
        ["/api", { accept: aggregated }],
        ["/apis", { accept: aggregated }],
        ["/openapi/v2", {}],
        ["/openapi/v3", {}],
      ];
      for (const [path, headers] of documents) {
        const { status, headers: answered } = await api.send(path, { headers });
        assert.equal(status, 200, path);
        const tag = String(answered["etag"]);
        assert.match(tag, /^".+"$/, path);
        const again = await api.send(path, { headers: { ...headers, "if-none-match": tag } });
        assert.deepEqual([again.status, again.body.toString()], [304, ""], path);
        const anyVersion = await api.send(path, { headers: { ...headers, "if-none-match": "*" } });
        assert.equal(anyVersion.status, 304, path);
        const changed = await api.send(path, { headers: { ...headers, "if-none-match": '"other"' } });
        assert.equal(changed.status, 200, path);
      }
    });

    it(`may be kept by shared caches in ${profile} where Kubernetes lets them`, async () => {
      const api = apiOf(profile);
      const kept = async (path: string, headers: Record<string, string> = {}): Promise<unknown> =>
        (await api.send(path, { headers })).headers["cache-control"];
      assert.equal(await kept("/apis", { accept: aggregated }), "public");
      for (const path of ["/apis", "/openapi/v2", "/openapi/v3", "/openapi/v3/api/v1"]) {
        assert.equal(await kept(path), "no-cache, private", path);
      }
    });

    it(`are addressed by the hashes of their contents in ${profile}`, async () => {
      const api = apiOf(profile);
      const { paths } = await api.json<Index>("/openapi/v3");
      assert.ok(Object.keys(paths).length > 5);
      for (const [path, { serverRelativeURL }] of Object.entries(paths)) {
        const { body, headers } = await api.send(serverRelativeURL);
        const hash = createHash("sha512").update(String(body)).digest("hex").toUpperCase();
        assert.equal(serverRelativeURL, `/openapi/v3/${path}?hash=${hash}`);
        assert.match(String(headers["cache-control"]), /immutable/);
        const outdated = await api.send(`/openapi/v3/${path}?hash=0`);
        assert.deepEqual([outdated.status, outdated.headers["location"]], [301, serverRelativeURL]);
      }
    });
  }

  for (const [profile, domain] of [
    ["platform", "io.platform"],
    ["kubernetes", "io.k8s"],
  ] as const) {
    it(`define a quantity in ${profile} so that programs take a number for it, and as a text or a number where OpenAPI can`, async () => {
      const api = apiOf(profile);
      type Schema = Readonly<Record<string, unknown>>;
      const [second, third] = await Promise.all([
        api.json<{ definitions: Record<string, Schema> }>("/openapi/v2"),
        api.json<{ components: { schemas: Record<string, Schema> } }>("/openapi/v3/api/v1"),
      ]);
      const name = `${domain}.apimachinery.pkg.api.resource.Quantity`;
      const { definitions } = second;
      const resources = definitions[`${domain}.api.core.v1.ResourceRequirements`];
      const { limits } = (resources?.["properties"] ?? {}) as Record<string, Schema>;
      assert.deepEqual(limits?.["additionalProperties"], { $ref: `#/definitions/${name}` });
      const { type, format } = definitions[name] ?? {};
      // Go's structured-merge-diff takes a number for a string with a format that it does not know.
      assert.deepEqual([type, format], ["string", "quantity"]);
      assert.deepEqual(third.components.schemas[name]?.["oneOf"], [{ type: "string" }, { type: "number" }]);
    });
  }

  it("say that the review of a token needs a token", async () => {
    type Document = { definitions: Record<string, { required?: string[] }> };
    const { definitions } = await apiOf("kubernetes").json<Document>("/openapi/v2");
    assert.deepEqual(definitions["io.k8s.api.authentication.v1.TokenReviewSpec"]?.required, ["token"]);
  });

  it("have different hashes when their contents differ", async () => {
    const [platform, kubernetes] = await Promise.all(
      profiles.map(async (profile) => (await apiOf(profile).json<Index>("/openapi/v3")).paths["api/v1"]),
    );
    assert.notEqual(platform?.serverRelativeURL, kubernetes?.serverRelativeURL);
  });

  it("list every group at once to clients that ask for it, and one by one to others", async () => {
    const api = apiOf("kubernetes");
    const all = await api.json<Discovery>("/apis", { headers: { accept: aggregated } });
    assert.equal(all.kind, "APIGroupDiscoveryList");
    const { groups } = await api.json<{ groups: { name: string }[] }>("/apis");
    assert.deepEqual(
      all.items.map(({ metadata }) => metadata.name),
      groups.map(({ name }) => name),
    );
    const [core] = (await api.json<Discovery>("/api", { headers: { accept: aggregated } })).items;
    assert.equal(core?.metadata.name ?? "", "");
  });

  describe("in protobuf, for clients that prefer it or take nothing else", () => {
    const protobuf = "application/vnd.kubernetes.protobuf";
    const inProtobuf = async (path: string, accept: string): Promise<Buffer> => {
      const { status, headers, body } = await apiOf("kubernetes").send(path, { headers: { accept } });
      assert.deepEqual([status, headers["content-type"]], [200, accept.split(",")[0]], path);
      assert.ok(body instanceof Uint8Array);
      return Buffer.from(body);
    };

    // As kube-apiserver 1.36.3 answers.
    const upstream = {
      "/apis/coordination.k8s.io":
        "azhzAAoOCgJ2MRIIQVBJR3JvdXASUQoTY29vcmRpbmF0aW9uLms4cy5pbxIcChZjb29yZGluYXRpb24uazhzLmlvL3YxEgJ2MRocChZjb29y" +
        "ZGluYXRpb24uazhzLmlvL3YxEgJ2MRoAIgA=",
      "/apis/coordination.k8s.io/v1":
        "azhzAAoVCgJ2MRIPQVBJUmVzb3VyY2VMaXN0EokBChZjb29yZGluYXRpb24uazhzLmlvL3YxEm8KBmxlYXNlcxABGgVMZWFzZSJDCgZjcmVh" +
        "dGUKBmRlbGV0ZQoQZGVsZXRlY29sbGVjdGlvbgoDZ2V0CgRsaXN0CgVwYXRjaAoGdXBkYXRlCgV3YXRjaDIFbGVhc2VCAEoAUgxncWtNTWIv" +
        "WXFGTT0aACIA",
    };
    for (const [path, bytes] of Object.entries(upstream)) {
      it(`have upstream's bytes: ${path}`, async () => {
        for (const accept of [protobuf, `${protobuf},application/json`]) {
          assert.equal((await inProtobuf(path, accept)).toString("base64"), bytes);
        }
      });
    }

    const conversion = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    const documents: readonly { path: string; schema: ObjectSchema; conversion: string }[] = [
      { path: "/api", schema: apiVersionsSchema, conversion: "" },
      { path: "/apis", schema: apiGroupListSchema, conversion: "" },
      { path: "/apis/certificates.k8s.io", schema: apiGroupSchema, conversion: "" },
      { path: "/api/v1", schema: apiResourceListSchema, conversion: "" },
      { path: "/api", schema: apiGroupDiscoveryListSchema, conversion },
      { path: "/apis", schema: apiGroupDiscoveryListSchema, conversion },
    ];
    for (const { path, schema, conversion: parameters } of documents) {
      it(`say what JSON and YAML say: ${path}${parameters}`, async () => {
        const inText = async (format: string): Promise<unknown> =>
          parseYaml(
            String((await apiOf("kubernetes").send(path, { headers: { accept: `${format}${parameters}` } })).body),
          );
        const document = await inText("application/json");
        assert.deepEqual(await inText("application/yaml"), document);
        const { apiVersion, kind, raw } = decodeEnvelope(await inProtobuf(path, `${protobuf}${parameters}`));
        const typed = { ...(apiVersion !== "" && { apiVersion }), kind };
        assert.deepEqual(withoutEmpty({ ...typed, ...compileProtobuf(schema).decode(raw) }), withoutEmpty(document));
      });
    }
  });
});

/** A value without the fields that protobuf writes and JSON leaves out, or the other way round. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, member]) => [name, withoutEmpty(member)] as const);
  return Object.fromEntries(entries.filter(([, member]) => !isEmpty(member)));
}

const isEmpty = (value: unknown): boolean =>
  value === "" ||
  value === 0 ||
  value === false ||
  (typeof value === "object" && Object.keys(value ?? {}).length === 0);
