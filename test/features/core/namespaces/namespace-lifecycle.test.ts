import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { namespaceLifecycle } from "../../../../src/features/core/namespaces/namespace-lifecycle.ts";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import { apiObject, attributes, names, refusalOf } from "../../admission-scene.ts";

const phases: Readonly<Record<string, string>> = { living: "Active", dying: "Terminating" };
const rule = namespaceLifecycle({
  names,
  findNamespace: (name) => (Object.hasOwn(phases, name) ? { status: { phase: phases[name] ?? "" } } : undefined),
});
const object = apiObject();

describe("a namespace", () => {
  it("must exist for objects that are created or changed in it", async () => {
    assert.equal(await refusalOf(rule, { namespace: "living", object }), undefined);
    for (const operation of ["CREATE", "UPDATE"] as const) {
      assert.equal(
        await refusalOf(rule, { operation, namespace: "absent", object }),
        '404 namespaces "absent" not found',
      );
    }
    assert.equal(await refusalOf(rule, { operation: "DELETE", namespace: "absent" }), undefined);
  });

  it("with the name of a built-in property does not exist", async () => {
    assert.equal(await refusalOf(rule, { namespace: "constructor", object }), '404 namespaces "constructor" not found');
  });

  it("that terminates accepts no new objects, with a machine-readable cause", async () => {
    const creating = attributes({ namespace: "dying", object });
    await assert.rejects(
      async () => rule.admit?.(creating),
      (error) => {
        assert.ok(error instanceof ApiError);
        assert.equal(
          error.message,
          'configmaps "a" is forbidden: unable to create new content in namespace dying because it is being terminated',
        );
        assert.deepEqual(error.details?.causes, [
          {
            reason: "NamespaceTerminating",
            message: "namespace dying is being terminated",
            field: "metadata.namespace",
          },
        ]);
        return true;
      },
    );
    assert.equal(await refusalOf(rule, { operation: "UPDATE", namespace: "dying", object }), undefined);
  });

  it("that the server needs cannot be deleted", async () => {
    for (const name of ["default", "platform-system", "platform-public"]) {
      assert.equal(
        await refusalOf(rule, { operation: "DELETE", resource: "namespaces", name, namespace: name }),
        `403 namespaces "${name}" is forbidden: this namespace may not be deleted`,
      );
    }
    assert.equal(await refusalOf(rule, { operation: "DELETE", resource: "namespaces", name: "living" }), undefined);
  });

  it("is not revealed by an access review", async () => {
    const review = { group: names.group("authorization"), resource: "localsubjectaccessreviews" };
    assert.equal(await refusalOf(rule, { ...review, namespace: "absent", object }), undefined);
  });
});
