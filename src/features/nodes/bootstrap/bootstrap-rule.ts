import { createHash } from "node:crypto";
import type { AdmissionAttributes, AdmissionRule } from "../../../machinery/api/attributes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { MaybePromise } from "../../../machinery/api/maybe-promise.ts";
import { nodeNameOf } from "../../../machinery/api/user-info.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import { retryOnConflict } from "../../../machinery/client/retry-on-conflict.ts";
import { admissionForbidden } from "../../../machinery/registry/admission.ts";
import type { CertificateRequest } from "../../../pki/requests/certificate-request.ts";
import { encodedText, secretResource } from "../../core/index.ts";
import type { Secret } from "../../core/index.ts";
import { bindingFault, bindingKeys, bootstrapBinding } from "./bootstrap-binding.ts";
import { bootstrapSecretName } from "./bootstrap-token-secret.ts";
import { bootstrapTokenIdOf } from "./bootstrap-tokens.ts";
import { asSigningRequest, requestedCertificate } from "../signing-request.ts";

interface BootstrapRuleOptions {
  readonly names: Names;
  /** Finds a Secret in the system namespace. */
  findSecret(name: string): MaybePromise<Secret | undefined>;
  nodeExists(name: string): Promise<boolean>;
  /** Whether a signer, by its name in either spelling, issues the client certificates with which machines authenticate as nodes. */
  joinsNodes(signerName: string): boolean;
  /** A client that writes as the server itself. */
  readonly client: () => ApiClient;
}

/**
 * Limits the requests of a bootstrap token's holder to what the token is for: the names of nodes, one use, and no existing Node. A token
 * for one use is marked as used by a compare-and-swap of its Secret, so that of several concurrent requests, to any worker or replica, only
 * one key succeeds. This key may request again, because an answer may have been lost.
 */
export function bootstrapRule({
  names,
  findSecret,
  nodeExists,
  joinsNodes,
  client,
}: BootstrapRuleOptions): AdmissionRule {
  const group = names.group("certificates");
  const { system } = names.namespaces;

  const check = async (
    attributes: AdmissionAttributes,
    {
      tokenId,
      signerName,
      request,
    }: { readonly tokenId: string; readonly signerName: string; readonly request: CertificateRequest },
  ): Promise<void> => {
    const key = createHash("sha256").update(request.publicKey.spki).digest("hex");
    const { commonName } = request.subject;
    const node = nodeNameOf(commonName);
    const secret = await findSecret(bootstrapSecretName(tokenId));
    if (secret === undefined) throw admissionForbidden(attributes, "the bootstrap token is gone");
    const binding = bootstrapBinding(secret);
    const fault = bindingFault(binding, {
      commonName,
      key,
      isJoining: joinsNodes(signerName),
      nodeExists: node !== undefined && (await nodeExists(node)),
    });
    if (fault !== undefined) throw admissionForbidden(attributes, fault);
    if (!binding.isForOneUse || binding.usedBy !== undefined || attributes.isDryRun || node === undefined) return;
    const used = { [bindingKeys.usedByKey]: encodedText(key), [bindingKeys.usedByNode]: encodedText(node) };
    await client()
      .resource(secretResource(names), system)
      .update({ ...secret, data: { ...secret.data, ...used } });
  };

  return {
    name: "BootstrapToken",
    appliesTo: ({ operation, group: asked, resource, subresource, user }) =>
      operation === "CREATE" &&
      asked === group &&
      resource === "certificatesigningrequests" &&
      subresource === "" &&
      bootstrapTokenIdOf(user) !== undefined,
    async validate(attributes) {
      const { user, object } = attributes;
      const tokenId = bootstrapTokenIdOf(user);
      if (tokenId === undefined || object === undefined) return;
      const signingRequest = asSigningRequest(object);
      const request = requestedCertificate(signingRequest);
      if (request === undefined) return;
      const { signerName } = signingRequest.spec;
      await retryOnConflict(() => check(attributes, { tokenId, signerName, request }));
    },
  };
}
