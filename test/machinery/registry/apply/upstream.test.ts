import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { ApiError } from "../../../../src/machinery/api/api-error.ts";
import { kubernetesNames } from "../../../../src/machinery/api/names.ts";
import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { setOfPaths } from "../../../../src/machinery/registry/apply/owned-fields.ts";
import { applyConfiguration } from "../../../../src/machinery/registry/apply/apply-configuration.ts";
import { runToEnd } from "../../../../src/machinery/api/run-to-end.ts";
import { trackUpdate } from "../../../../src/machinery/registry/apply/track-update.ts";
import { certificateSigningRequests } from "../../../../src/features/certificates/requests/certificate-signing-requests.ts";
import { serviceAccounts } from "../../../../src/features/accounts/service-accounts.ts";
import { CompiledSchema } from "../../../../src/machinery/registry/definition/compiled-schema.ts";

interface Step {
  readonly op: "update" | "apply";
  readonly manager: string;
  readonly subresource: string;
  readonly force: boolean;
  readonly reset: readonly string[][];
  readonly object: ApiObject;
  readonly answer: ApiObject | { readonly error: string };
}

interface Sequence {
  readonly kind: "ServiceAccount" | "CertificateSigningRequest";
  readonly steps: readonly Step[];
}

const schemas: Readonly<Record<Sequence["kind"], CompiledSchema<ApiObject>>> = {
  ServiceAccount: new CompiledSchema(serviceAccounts(kubernetesNames).schema),
  CertificateSigningRequest: new CompiledSchema(certificateSigningRequests(kubernetesNames).schema),
};

const sequences = JSON.parse(
  readFileSync(new URL("fixtures/field-management.json", import.meta.url), "utf8"),
) as readonly Sequence[];

const firstSecond = 1_700_000_000;

function answer(
  compiled: CompiledSchema<ApiObject>,
  live: ApiObject | undefined,
  step: Step,
  second: number,
): ApiObject {
  const { manager, subresource, object, force } = step;
  const write = {
    compiled,
    manager,
    subresource,
    apiVersion: object.apiVersion,
    resetFields: setOfPaths(step.reset),
    now: (firstSecond + second) * 1000,
  };
  if (step.op === "update") {
    return runToEnd(trackUpdate({ ...write, previous: live, next: compiled.decode(object).value }));
  }
  return compiled.decode(
    runToEnd(applyConfiguration({ ...write, name: "s", live, configuration: object, isForced: force })),
  ).value;
}

/** As JSON without the nulls that Go's encoder writes for some absent values. */
const plain = (object: unknown): unknown =>
  JSON.parse(JSON.stringify(object, (_key, value: unknown) => (value === null ? undefined : value)));

describe("field management", () => {
  for (const [index, { kind, steps }] of sequences.entries()) {
    it(`answers sequence ${index} of a ${kind} as upstream does`, () => {
      const schema = schemas[kind];
      let live: ApiObject | undefined;
      for (const [second, step] of steps.entries()) {
        const expected = step.answer;
        if ("error" in expected) {
          assert.throws(
            () => answer(schema, live, step, second),
            (error) =>
              error instanceof ApiError &&
              (!expected.error.startsWith("Apply failed") || error.message === expected.error),
            expected.error,
          );
        } else {
          live = answer(schema, live, step, second);
          assert.deepEqual(plain(live), plain(expected), `step ${second}`);
        }
      }
    });
  }
});
