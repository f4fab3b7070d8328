import type { AdmissionRule } from "../../../machinery/api/attributes.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import { isOnlyGarbageCollectionChange } from "../../core/index.ts";
import { admissionForbidden } from "../../../machinery/registry/admission-forbidden.ts";
import { isPermittedForSigner } from "../signer-permission.ts";
import type { SignerRuleOptions } from "../signer-permission.ts";

interface Bundle extends ApiObject {
  readonly spec: { readonly signerName?: string };
}

/** Writing a signer's bundle needs the permission to `attest` for the signer (upstream: ClusterTrustBundleAttest). */
export const clusterTrustBundleAttest = (options: SignerRuleOptions): AdmissionRule => ({
  name: "ClusterTrustBundleAttest",
  appliesTo: ({ group, resource }) =>
    resource === "clustertrustbundles" && group === options.names.group("certificates"),
  async validate(attributes) {
    const { object, oldObject, user } = attributes;
    if (object === undefined) return;
    // The path determines the type. Validation makes signerName immutable, so the new one can be checked.
    const { signerName = "" } = (object as Bundle).spec;
    if (signerName === "") return;
    if (oldObject !== undefined && isOnlyGarbageCollectionChange(object, oldObject)) return;
    if (await isPermittedForSigner(options, { user, verb: "attest", signerName })) return;
    throw admissionForbidden(attributes, `user not permitted to attest for signerName ${JSON.stringify(signerName)}`);
  },
});
