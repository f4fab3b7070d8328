import { bundlePrefix } from "./bundle-names.ts";
import { ownSignerName } from "../signer-names.ts";
import { clusterTrustBundleResource } from "../resources.ts";
import { invalidValue, invalidValues, tooLong } from "../../../machinery/api/validation/field-error.ts";
import type { FieldError } from "../../../machinery/api/validation/field-error.ts";
import { validateDnsSubdomainName } from "../../../machinery/api/validation/name-validation.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { findAnchorFaults, maximumTrustBundleBytes } from "../../../pki/certificates/trust-anchors.ts";
import { nameColumn } from "../../../machinery/registry/definition/columns.ts";
import { defineResource } from "../../../machinery/registry/definition/resource-definition.ts";
import type { ResourceDefinition } from "../../../machinery/registry/definition/resource-definition.ts";
import { LongWork } from "../../../machinery/scheduling/long-work.ts";
import { objectFields } from "../../../machinery/schema/meta-schemas.ts";
import { object, string } from "../../../machinery/schema/schema.ts";
import type { Infer } from "../../../machinery/schema/schema.ts";
import { validateSignerName } from "../signer-name-validation.ts";
import { omitEmpty, required, struct } from "../../../machinery/schema/struct.ts";

/** The schema of a version. The versions differ only in the names of their types. */
const schemaOf = (version: "v1" | "v1beta1") =>
  struct(
    `${version}.ClusterTrustBundle`,
    "X.509 trust anchors (root certificates), optionally of one signer. Every authenticated user can read them.",
    {
      ...objectFields,
      spec: required(
        2,
        object({
          goType: `${version}.ClusterTrustBundleSpec`,
          description: "The anchors of a bundle and their signer.",
          fields: {
            signerName: omitEmpty(
              1,
              string,
              "The signer that the anchors belong to, if any. Writing such a bundle requires the permission to `attest` for the " +
                "signer. The bundle's name must begin with the signer's, with a colon for the slash, and another colon: " +
                "`example.com:signer:ca` for `example.com/signer`. The name of a bundle without a signer has no colon. Lists " +
                "and watches can be limited to one signer with the field selector `spec.signerName`. It cannot be changed.",
            ),
            trustBundle: required(
              2,
              string,
              "The anchors: PEM blocks of type CERTIFICATE without headers. Each is a CA certificate, without duplicates. " +
                "There is at least one, and 1 MiB at most. Readers may reorder them, and drop text between the blocks.",
            ),
          },
        }),
        "The anchors and their signer.",
      ),
    },
  );

const clusterTrustBundleSchema = schemaOf("v1beta1");

export type ClusterTrustBundle = Infer<typeof clusterTrustBundleSchema>;

export const clusterTrustBundles = (names: Names): ResourceDefinition<ClusterTrustBundle> =>
  defineResource({
    ...clusterTrustBundleResource(names),
    answersStatusOfDeletedCollection: true,
    deprecation: { deprecatedIn: "1.37", unavailableIn: "1.40" },
    alsoServedAs: names.hasUpstreamVersions
      ? [{ group: names.group("certificates"), version: "v1", schema: schemaOf("v1") }]
      : [],
    schema: clusterTrustBundleSchema,
    validateName: (name, { isPrefix, object: bundle }) =>
      bundleNameFaults(name, { signerName: bundle.spec.signerName ?? "", isPrefix }),
    async startValidation({ spec }, { user }) {
      const validateBundle = await startBundleValidation(spec.trustBundle, user);
      return () => [...validateSigner(spec.signerName ?? ""), ...validateBundle()];
    },
    async startUpdateValidation({ spec }, { previous, user }) {
      // Unchanged anchors are not validated again, so that an older bundle that a stricter parser would refuse can still be labelled.
      const isChanged = spec.trustBundle !== previous.spec.trustBundle;
      const validateBundle = isChanged ? await startBundleValidation(spec.trustBundle, user) : () => [];
      return () => [
        "metadata",
        ...validateSigner(spec.signerName ?? ""),
        ...validateBundle(),
        "metadata change",
        ...((spec.signerName ?? "") === (previous.spec.signerName ?? "")
          ? []
          : [invalidValue("spec.signerName", { value: spec.signerName ?? "", detail: "field is immutable" })]),
      ];
    },
    allowsUnconditionalUpdate: false,
    selectableFields: { "spec.signerName": ({ spec }) => spec.signerName ?? "" },
    comparedAs: (_field, value) => ownSignerName(names, value),
    columns: [
      nameColumn(names),
      {
        name: "SignerName",
        description:
          "signerName indicates the associated signer, if any.\n\n" +
          `In order to create or update a ClusterTrustBundle that sets signerName, you must have the following cluster-scoped permission: group=${names.group("certificates")} resource=signers resourceName=<the signer name> verb=attest.\n\n` +
          "If signerName is not empty, then the ClusterTrustBundle object must be named with the signer name as a prefix (translating slashes to colons). For example, for the signer name `example.com/foo`, valid ClusterTrustBundle object names include `example.com:foo:abc` and `example.com:foo:v1`.\n\n" +
          "If signerName is empty, then the ClusterTrustBundle object's name must not have such a prefix.\n\n" +
          "List/watch requests for ClusterTrustBundles can filter on this field using a `spec.signerName=NAME` field selector.",
        cell: ({ spec }) => ((spec.signerName ?? "") === "" ? "<none>" : (spec.signerName ?? "")),
      },
    ],
  });

/**
 * The names of a signer's bundles must begin with the signer's prefix, and the names of other bundles must not look like that. So no bundle
 * can imitate a signer's.
 */
function bundleNameFaults(
  name: string,
  { signerName, isPrefix }: { readonly signerName: string; readonly isPrefix: boolean },
): string[] {
  if (signerName === "") {
    return name.includes(":")
      ? ['ClusterTrustBundle without signer name must not have ":" in its name']
      : validateDnsSubdomainName(name, { isPrefix });
  }
  const prefix = bundlePrefix(signerName);
  return name.startsWith(prefix)
    ? validateDnsSubdomainName(name.slice(prefix.length), { isPrefix })
    : [`ClusterTrustBundle for signerName ${signerName} must be named with prefix ${prefix}`];
}

const validateSigner = (signerName: string): FieldError[] =>
  signerName === "" ? [] : validateSignerName(signerName, "spec.signerName");

/** Reads the anchors in turns of the event loop, because a bundle has room for thousands. The result returns every fault. */
async function startBundleValidation(trustBundle: string, user: UserInfo): Promise<() => FieldError[]> {
  const field = "spec.trustBundle";
  if (Buffer.byteLength(trustBundle) > maximumTrustBundleBytes) return () => [tooLong(field, maximumTrustBundleBytes)];
  const details = await new LongWork(user).all(findAnchorFaults(trustBundle));
  return () => invalidValues(field, { value: "<value omitted>", details });
}
