import type { ApiObject } from "../../../../src/machinery/api/object-meta.ts";
import { platformNames } from "../../../../src/machinery/api/names.ts";
import { apiVersionOf } from "../../../../src/machinery/api/resource-type.ts";
import type { ResourceDefinition } from "../../../../src/machinery/registry/definition/resource-definition.ts";
import { encodeCertificatesPem } from "../../../../src/pki/certificates/certificates-pem.ts";
import { newAuthority } from "../../../end-to-end/signing-authority.ts";
import { sampleFields } from "../../../profiles/sample-objects.ts";

const namespace = "hostile";

/** An object of the kind that the server accepts. */
export const sampleObject = ({ kind, scope, group, ...type }: ResourceDefinition, name: string): ApiObject => ({
  kind,
  apiVersion: apiVersionOf({ group, ...type }),
  metadata: { name, ...(scope === "Namespaced" && { namespace }) },
  ...sampleFields(platformNames, { kind, group, namespace }),
});

const authentication = { apiVersion: "authentication.platform.io/v1" };
const authorization = { apiVersion: "authorization.platform.io/v1" };
const selectors = {
  fieldSelector: { rawSelector: "", requirements: [{ key: "metadata.name", operator: "In", values: ["a"] }] },
  labelSelector: { rawSelector: "a=b", requirements: [{ key: "a", operator: "Exists", values: ["b"] }] },
};
const resourceAttributes = {
  namespace: "hostile",
  verb: "get",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "log",
  name: "a",
  ...selectors,
};
const nonResourceAttributes = { path: "/x", verb: "get" };
const who = { user: "u", groups: ["g"], uid: "1", extra: { k: ["v"] } };
const metadata = { name: "bob", namespace: "hostile", labels: { a: "b" }, managedFields: [{ manager: "m" }] };

interface SampleReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: object;
  readonly spec?: object;
  readonly status?: object;
}

/** A request of each kind that is answered and never stored, with all of its fields. */
export const sampleReviews: readonly { readonly target: string; readonly review: SampleReview }[] = [
  {
    target: "/api/v1/namespaces/hostile/serviceaccounts/default/token",
    review: {
      ...authentication,
      kind: "TokenRequest",
      metadata: { name: "default", namespace: "hostile", labels: { a: "b" } },
      spec: {
        audiences: ["a"],
        expirationSeconds: 600,
        boundObjectRef: { kind: "Secret", apiVersion: "v1", name: "sample", uid: "" },
      },
      status: { token: "x", expirationTimestamp: "2026-01-01T00:00:00Z" },
    },
  },
  {
    target: "/apis/authentication.platform.io/v1/tokenreviews",
    review: {
      ...authentication,
      kind: "TokenReview",
      metadata,
      spec: { token: "e30.e30.e30", audiences: ["a"] },
      status: { authenticated: true, user: { username: "x", uid: "1", groups: ["g"], extra: { k: ["v"] } }, error: "" },
    },
  },
  {
    target: "/apis/authentication.platform.io/v1/selfsubjectreviews",
    review: { ...authentication, kind: "SelfSubjectReview", metadata, status: { userInfo: { username: "x" } } },
  },
  ...[
    { kind: "SelfSubjectAccessReview", target: "/apis/authorization.platform.io/v1/selfsubjectaccessreviews" },
    { kind: "SubjectAccessReview", target: "/apis/authorization.platform.io/v1/subjectaccessreviews" },
    {
      kind: "LocalSubjectAccessReview",
      target: "/apis/authorization.platform.io/v1/namespaces/hostile/localsubjectaccessreviews",
    },
  ].flatMap(({ kind, target }) => [
    { target, review: { ...authorization, kind, metadata: {}, spec: { resourceAttributes, ...who } } },
    { target, review: { ...authorization, kind, metadata, spec: { nonResourceAttributes, ...who }, status: {} } },
  ]),
  {
    target: "/apis/authorization.platform.io/v1/selfsubjectrulesreviews",
    review: { ...authorization, kind: "SelfSubjectRulesReview", metadata, spec: { namespace: "hostile" } },
  },
  {
    target: "/apis/signet.platform.io/v1/certificatereviews",
    review: {
      apiVersion: "signet.platform.io/v1",
      kind: "CertificateReview",
      metadata,
      spec: { certificate: encodeCertificatesPem([newAuthority("reviewed").certificate]) },
      status: { revoked: true },
    },
  },
];
