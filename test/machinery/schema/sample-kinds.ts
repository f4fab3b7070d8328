import { typeMetaFields } from "../../../src/machinery/schema/meta-schemas.ts";
import { objectMeta } from "../../../src/machinery/schema/object-meta-schema.ts";
import {
  atomicList,
  boolean,
  bytes,
  int32,
  mapList,
  microTime,
  named,
  object,
  string,
  time,
} from "../../../src/machinery/schema/schema.ts";
import { userExtra } from "../../../src/machinery/schema/user-info-schema.ts";

const description = "A sample.";
const metadata = { number: 1, schema: objectMeta, presence: "always", description } as const;

export const serviceAccount = object({
  goType: "v1.ServiceAccount",
  description,
  fields: {
    ...typeMetaFields,
    metadata,
    secrets: {
      number: 2,
      description,
      schema: mapList(
        object({
          goType: "v1.ObjectReference",
          description,
          isAtomic: true,
          fields: {
            kind: { number: 1, schema: string, description },
            namespace: { number: 2, schema: string, description },
            name: { number: 3, schema: string, description },
            uid: { number: 4, schema: named(string, "types.UID"), description },
            apiVersion: { number: 5, schema: string, description },
            resourceVersion: { number: 6, schema: string, description },
            fieldPath: { number: 7, schema: string, description },
          },
        }),
        "name",
      ),
    },
    imagePullSecrets: {
      number: 3,
      description,
      schema: atomicList(
        object({
          goType: "v1.LocalObjectReference",
          description,
          fields: { name: { number: 1, schema: string, description } },
        }),
      ),
    },
    automountServiceAccountToken: { number: 4, schema: boolean, presence: "pointer", description },
  },
});

const condition = object({
  goType: "v1.CertificateSigningRequestCondition",
  description,
  fields: {
    type: { number: 1, schema: named(string, "v1.RequestConditionType"), presence: "always", description },
    status: { number: 6, schema: named(string, "v1.ConditionStatus"), presence: "always", description },
    reason: { number: 2, schema: string, description },
    message: { number: 3, schema: string, description },
    lastUpdateTime: { number: 4, schema: time, presence: "always", description },
    lastTransitionTime: { number: 5, schema: time, presence: "always", description },
  },
});

export const certificateSigningRequest = object({
  goType: "v1.CertificateSigningRequest",
  description,
  fields: {
    ...typeMetaFields,
    metadata,
    spec: {
      number: 2,
      presence: "always",
      description,
      isRequired: true,
      schema: object({
        goType: "v1.CertificateSigningRequestSpec",
        description,
        fields: {
          request: { number: 1, schema: bytes, presence: "always", description },
          signerName: { number: 7, schema: string, presence: "always", description },
          expirationSeconds: { number: 8, schema: int32, presence: "pointer", description },
          usages: { number: 5, schema: atomicList(named(string, "v1.KeyUsage")), description },
          username: { number: 2, schema: string, description },
          uid: { number: 3, schema: string, description },
          groups: { number: 4, schema: atomicList(string), description },
          extra: { number: 6, schema: userExtra, description },
        },
      }),
    },
    status: {
      number: 3,
      presence: "always",
      description,
      schema: object({
        goType: "v1.CertificateSigningRequestStatus",
        description,
        fields: {
          conditions: { number: 1, schema: mapList(condition, "type"), description },
          certificate: { number: 2, schema: bytes, description },
        },
      }),
    },
  },
});

export const lease = object({
  goType: "v1.Lease",
  description,
  fields: {
    ...typeMetaFields,
    metadata,
    spec: {
      number: 2,
      presence: "always",
      description,
      schema: object({
        goType: "v1.LeaseSpec",
        description,
        fields: {
          holderIdentity: { number: 1, schema: string, presence: "pointer", description },
          leaseDurationSeconds: { number: 2, schema: int32, presence: "pointer", description },
          acquireTime: { number: 3, schema: microTime, presence: "pointer", description },
          renewTime: { number: 4, schema: microTime, presence: "pointer", description },
          leaseTransitions: { number: 5, schema: int32, presence: "pointer", description },
        },
      }),
    },
  },
});
