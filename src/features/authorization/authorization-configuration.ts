import { atomicList, boolean, object, string } from "../../machinery/schema/schema.ts";
import type { Infer } from "../../machinery/schema/schema.ts";

const webhookConfiguration = object({
  goType: "apiserver.WebhookConfiguration",
  description: "How a webhook is asked.",
  fields: {
    authorizedTTL: { number: 1, schema: string, description: "How long answers that allow are kept. Default: 5m." },
    cacheAuthorizedRequests: {
      number: 8,
      schema: boolean,
      presence: "pointer",
      description: "Whether answers that allow are kept. Default: true.",
    },
    unauthorizedTTL: {
      number: 2,
      schema: string,
      description: "How long answers that do not allow are kept. Default: 30s.",
    },
    cacheUnauthorizedRequests: {
      number: 9,
      schema: boolean,
      presence: "pointer",
      description: "Whether answers that do not allow are kept. Default: true.",
    },
    timeout: { number: 3, schema: string, description: "How long a request waits. At most 30s." },
    subjectAccessReviewVersion: { number: 4, schema: string, description: "v1 or v1beta1." },
    matchConditionSubjectAccessReviewVersion: {
      number: 5,
      schema: string,
      description: "The version that conditions read: v1.",
    },
    failurePolicy: { number: 6, schema: string, description: "What no answer means: NoOpinion or Deny." },
    connectionInfo: {
      number: 7,
      presence: "always",
      description: "Where the webhook is.",
      schema: object({
        goType: "apiserver.WebhookConnectionInfo",
        description: "Where the webhook is.",
        fields: {
          type: { number: 1, schema: string, description: "KubeConfigFile or InClusterConfig." },
          kubeConfigFile: {
            number: 2,
            schema: string,
            presence: "pointer",
            description: "The absolute path of a kubeconfig.",
          },
        },
      }),
    },
    matchConditions: {
      number: 10,
      description: "Only requests that meet all of them are sent.",
      schema: atomicList(
        object({
          goType: "apiserver.WebhookMatchCondition",
          description: "A condition.",
          fields: {
            expression: { number: 1, schema: string, description: "CEL on `request`, a SubjectAccessReviewSpec." },
          },
        }),
      ),
    },
  },
});

const authorizerConfiguration = object({
  goType: "apiserver.AuthorizerConfiguration",
  description: "One authorizer.",
  fields: {
    type: { number: 1, schema: string, description: "AlwaysAllow, AlwaysDeny, Node, RBAC or Webhook." },
    name: { number: 2, schema: string, description: "Its name in metrics and logs." },
    webhook: { number: 3, schema: webhookConfiguration, presence: "pointer", description: "For the type Webhook." },
  },
});

/** The file of `--authorization-config` (upstream: `apiserver.config.k8s.io/v1`, the same as v1beta1). */
export const authorizationConfigurationSchema = object({
  goType: "apiserver.AuthorizationConfiguration",
  description: "Who decides what users may do.",
  fields: {
    apiVersion: { number: 0, schema: string, description: "apiserver.config.k8s.io/v1" },
    kind: { number: 0, schema: string, description: "AuthorizationConfiguration" },
    authorizers: {
      number: 1,
      schema: atomicList(authorizerConfiguration),
      description: "In the order in which they are asked.",
    },
  },
});

export type AuthorizerConfiguration = Infer<typeof authorizerConfiguration>;
export type WebhookConfiguration = Infer<typeof webhookConfiguration>;
