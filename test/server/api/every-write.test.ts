import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { AdmissionAttributes, AdmissionRule } from "../../../src/machinery/api/attributes.ts";
import type { Profile } from "../../../src/machinery/api/names.ts";
import { namesFor } from "../../../src/machinery/api/names.ts";
import { encodeCertificatesPem } from "../../../src/pki/certificates/certificates-pem.ts";
import { newAuthority } from "../../end-to-end/signing-authority.ts";
import { InProcess } from "../in-process.ts";
import type { SentRequest } from "../in-process.ts";
import { sampleFields } from "../../profiles/sample-objects.ts";
import { startTestServer } from "../../test-server.ts";
import type { TestServer } from "../../test-server.ts";

interface Asked {
  readonly phase: "admit" | "validate";
  readonly attributes: AdmissionAttributes;
}

/** One line for a question, in the order of an admission rule's attributes. */
function lineOf({ phase, attributes }: Asked): string {
  const { operation, group, resource, subresource, namespace, name, object, oldObject, isDryRun, user } = attributes;
  const target = [group, resource, ...(subresource === "" ? [] : [subresource])].join("/");
  const objects = `${object === undefined ? "" : " object"}${oldObject === undefined ? "" : " oldObject"}`;
  return `${phase} ${operation} ${target} ${namespace}/${name}${objects}${isDryRun ? " dry" : ""} by ${user.username}`;
}

interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly group?: string;
  readonly version?: string;
}

interface Served {
  readonly resource: string;
  readonly subresource: string;
  readonly kind: string;
  readonly group: string;
  /** The API version of the body: a subresource's kind may be in another group. */
  readonly apiVersion: string;
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  /** The path of its objects. */
  readonly collection: string;
}

/** The served resources according to discovery: nothing else can be written. */
async function servedResources(api: InProcess): Promise<Served[]> {
  const { groups } = await api.json<{ groups: { versions: { groupVersion: string }[] }[] }>("/apis");
  const roots = ["v1", ...groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => groupVersion))];
  const lists = await Promise.all(
    roots.map(async (groupVersion) => {
      const root = groupVersion === "v1" ? "/api/v1" : `/apis/${groupVersion}`;
      const { resources } = await api.json<{ resources: ApiResource[] }>(root);
      return resources.map(({ name, kind, namespaced, verbs, group, version }): Served => {
        const [resource = "", subresource = ""] = name.split("/");
        return {
          resource,
          subresource,
          kind,
          group: groupVersion.includes("/") ? (groupVersion.split("/")[0] ?? "") : "",
          apiVersion: version === undefined ? groupVersion : [...(group ? [group] : []), version].join("/"),
          isNamespaced: namespaced,
          verbs,
          collection: `${root}/${namespaced ? "namespaces/default/" : ""}${resource}`,
        };
      });
    }),
  );
  return lists.flat();
}

/** Reviews and create subresources need these fields for an answer. */
const reviewFields: Readonly<Record<string, object>> = {
  TokenReview: { spec: { token: "none" } },
  TokenRequest: { spec: { audiences: [] } },
  SelfSubjectReview: {},
  CertificateReview: { spec: { certificate: encodeCertificatesPem([newAuthority("reviewed").certificate]) } },
  SelfSubjectRulesReview: { spec: { namespace: "default" } },
  SelfSubjectAccessReview: { spec: { nonResourceAttributes: { path: "/", verb: "get" } } },
  SubjectAccessReview: { spec: { user: "ann", nonResourceAttributes: { path: "/", verb: "get" } } },
  LocalSubjectAccessReview: {
    spec: { user: "ann", resourceAttributes: { namespace: "default", verb: "get", resource: "pods" } },
  },
};

const patches = {
  "application/json-patch+json": (label: string) => [{ op: "add", path: "/metadata/labels", value: { [label]: "x" } }],
  "application/merge-patch+json": (label: string) => ({ metadata: { labels: { [label]: "x" } } }),
  "application/strategic-merge-patch+json": (label: string) => ({ metadata: { labels: { [label]: "x" } } }),
} as const;
const applyType = "application/apply-patch+yaml";
const writeVerbs = new Set(["create", "update", "patch", "delete", "deletecollection"]);

for (const profile of ["platform", "kubernetes"] as const satisfies readonly Profile[]) {
  describe(`every write of profile ${profile}`, () => {
    const names = namesFor(profile, { hasUpstreamNames: true });
    const asked: Asked[] = [];
    const recorder: AdmissionRule = {
      name: "Recorder",
      admit(attributes) {
        asked.push({ phase: "admit", attributes });
        return undefined;
      },
      validate(attributes) {
        asked.push({ phase: "validate", attributes });
      },
    };
    let server: TestServer;
    let api: InProcess;
    let served: Served[];
    before(async () => {
      // No controllers: every recorded question comes from the test's own requests.
      server = await startTestServer({ profile, admission: [recorder], settings: { controllers: false } });
      api = new InProcess(server);
      served = await servedResources(api);
      const account = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "default" } };
      await api.send("/api/v1/namespaces/default/serviceaccounts", { method: "POST", body: account });
    });

    /** The questions in each phase of a request, which must succeed. */
    async function questionsOf(target: string, sent: SentRequest, status: readonly number[] = [200, 201, 202]) {
      asked.length = 0;
      const answer = await api.send(target, sent);
      assert.ok(status.includes(answer.status), `${sent.method} ${target}: ${answer.status} ${String(answer.body)}`);
      return asked.map(lineOf);
    }

    const question = (
      { group: requestedGroup, resource, subresource, isNamespaced }: Served,
      operation: AdmissionAttributes["operation"],
      { name = "sample", isDry = false }: { readonly name?: string; readonly isDry?: boolean } = {},
    ): string[] => {
      // Rules compare with the server's own spelling, whichever the path has.
      // Events are stored in the core group.
      const group = requestedGroup.startsWith("events.") ? "" : names.ownGroup(requestedGroup);
      const target = [group, resource, ...(subresource === "" ? [] : [subresource])].join("/");
      const objects = { CREATE: " object", UPDATE: " object oldObject", DELETE: " oldObject" }[operation];
      // The path of a Namespace also contains its name as the namespace.
      const namespace = resource === "namespaces" ? name : isNamespaced ? "default" : "";
      const line = `${operation} ${target} ${namespace}/${name}${objects}${isDry ? " dry" : ""} by admin`;
      return [`admit ${line}`, `validate ${line}`];
    };

    const bodyOf = ({ apiVersion, kind, group }: Served, name = "sample"): object => ({
      apiVersion,
      kind,
      metadata: { name, labels: { sample: "yes" } },
      ...sampleFields(names, { kind, group }),
    });

    it("asks every rule in both phases, once, for every verb of every stored kind", async () => {
      const stored = served.filter(({ subresource, verbs }) => subresource === "" && verbs.includes("get"));
      // Services are only listed: there are none.
      for (const kind of stored.filter(({ verbs }) => verbs.some((verb) => writeVerbs.has(verb)))) {
        const { collection, verbs } = kind;
        const item = `${collection}/sample`;
        const may = (verb: string): boolean => verbs.includes(verb);
        const create = { method: "POST", body: bodyOf(kind) };
        assert.ok(may("create"), `${kind.kind} cannot be made`);
        assert.deepEqual(
          await questionsOf(`${collection}?dryRun=All`, create),
          question(kind, "CREATE", { isDry: true }),
        );
        assert.deepEqual(await questionsOf(collection, create), question(kind, "CREATE"));
        if (may("update")) {
          const body = async () => ({ ...(await api.json<object>(item)) });
          const put = { method: "PUT", body: await body() };
          assert.deepEqual(await questionsOf(`${item}?dryRun=All`, put), question(kind, "UPDATE", { isDry: true }));
          assert.deepEqual(await questionsOf(item, put), question(kind, "UPDATE"));
        }
        if (may("patch")) {
          for (const [type, patch] of Object.entries(patches)) {
            const sent = { method: "PATCH", headers: { "content-type": type }, body: patch("l") };
            assert.deepEqual(await questionsOf(`${item}?dryRun=All`, sent), question(kind, "UPDATE", { isDry: true }));
            assert.deepEqual(await questionsOf(item, sent), question(kind, "UPDATE"), type);
          }
          const { apiVersion } = kind;
          const body = { apiVersion, kind: kind.kind, metadata: { name: "sample", labels: { applied: "yes" } } };
          const sent = { method: "PATCH", headers: { "content-type": applyType }, body };
          assert.deepEqual(await questionsOf(`${item}?fieldManager=t`, sent), question(kind, "UPDATE"), "apply");
          // An apply of a missing object creates it.
          const applied = { ...sent, body: bodyOf(kind, "applied") };
          const target = `${collection}/applied?fieldManager=t`;
          const dry = await questionsOf(`${target}&dryRun=All`, applied);
          assert.deepEqual(dry, question(kind, "CREATE", { name: "applied", isDry: true }));
          assert.deepEqual(await questionsOf(target, applied), question(kind, "CREATE", { name: "applied" }));
        }
        if (may("update")) {
          // A PUT of a missing object creates it, or is a 404 without any question.
          const put = { method: "PUT", body: bodyOf(kind, "put") };
          const questions = await questionsOf(`${collection}/put`, put, [201, 404, 422]);
          const { status } = await api.send(`${collection}/put`);
          assert.deepEqual(questions, status === 200 ? question(kind, "CREATE", { name: "put" }) : [], kind.kind);
        }
        if (may("delete")) {
          const sent = { method: "DELETE" };
          assert.deepEqual(await questionsOf(`${item}?dryRun=All`, sent), question(kind, "DELETE", { isDry: true }));
          assert.deepEqual(await questionsOf(item, sent), question(kind, "DELETE"));
        }
        if (may("deletecollection")) {
          const more = ["one", "two"];
          for (const name of more) await questionsOf(collection, { method: "POST", body: bodyOf(kind, name) });
          const left = await api.json<{ items: { metadata: { name: string } }[] }>(
            `${collection}?labelSelector=sample`,
          );
          const found = left.items.map(({ metadata }) => metadata.name);
          assert.ok(more.every((name) => found.includes(name)));
          const questions = await questionsOf(`${collection}?labelSelector=sample`, { method: "DELETE" });
          const expected = found.flatMap((name) => question(kind, "DELETE", { name }));
          assert.deepEqual(questions.toSorted(), expected.toSorted(), kind.kind);
        }
      }
    });

    it("asks every rule about every subresource", async () => {
      const subresources = served.filter(
        ({ subresource, verbs }) => subresource !== "" && verbs.some((verb) => writeVerbs.has(verb)),
      );
      assert.ok(subresources.length > 0);
      for (const one of subresources) {
        const parent = served.find(({ resource, subresource, group }) => {
          return resource === one.resource && group === one.group && subresource === "";
        });
        assert.ok(parent !== undefined);
        const name = "with-parts";
        const path = `${one.collection}/${name}`;
        await questionsOf(one.collection, { method: "POST", body: bodyOf(parent, name) }, [201, 409]);
        const item = `${path}/${one.subresource}`;
        for (const [dryRun, isDry] of [
          ["?dryRun=All", true],
          ["", false],
        ] as const) {
          if (one.verbs.includes("create")) {
            const body = { apiVersion: one.apiVersion, kind: one.kind, metadata: { name }, ...reviewFields[one.kind] };
            const questions = await questionsOf(`${item}${dryRun}`, { method: "POST", body });
            // An eviction deletes.
            const deletion: string[] =
              one.subresource === "eviction" ? question(parent, "DELETE", { name, isDry }) : [];
            assert.deepEqual(questions, [...question(one, "CREATE", { name, isDry }), ...deletion], item);
          }
          if (one.verbs.includes("update")) {
            const body = await api.json<object>(path);
            const questions = await questionsOf(`${item}${dryRun}`, { method: "PUT", body });
            assert.deepEqual(questions, question(one, "UPDATE", { name, isDry }), item);
          }
          if (one.verbs.includes("patch")) {
            for (const [type, patch] of Object.entries(patches)) {
              const sent = { method: "PATCH", headers: { "content-type": type }, body: patch("l") };
              const questions = await questionsOf(`${item}${dryRun}`, sent);
              assert.deepEqual(questions, question(one, "UPDATE", { name, isDry }), `${item} ${type}`);
            }
            const body = { apiVersion: parent.apiVersion, kind: parent.kind, metadata: { name } };
            const sent = { method: "PATCH", headers: { "content-type": applyType }, body };
            const target = `${item}?fieldManager=t${isDry ? "&dryRun=All" : ""}`;
            const questions = await questionsOf(target, sent);
            assert.deepEqual(questions, question(one, "UPDATE", { name, isDry }), `${item} apply`);
          }
        }
      }
    });

    it("asks every rule about every review", async () => {
      const reviews = served.filter(({ subresource, verbs }) => subresource === "" && !verbs.includes("get"));
      assert.deepEqual(
        [...new Set(reviews.map(({ kind }) => kind))].toSorted(),
        Object.keys(reviewFields)
          .filter((kind) => kind !== "TokenRequest")
          .toSorted(),
        "every review has its fields above",
      );
      for (const review of reviews) {
        const body = { apiVersion: review.apiVersion, kind: review.kind, metadata: {}, ...reviewFields[review.kind] };
        for (const [dryRun, isDry] of [
          ["?dryRun=All", true],
          ["", false],
        ] as const) {
          const questions = await questionsOf(`${review.collection}${dryRun}`, { method: "POST", body });
          assert.deepEqual(questions, question(review, "CREATE", { name: "", isDry }), review.kind);
        }
      }
    });
  });
}
