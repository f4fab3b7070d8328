import { boolean, embeddedIn, object, quantity, string } from "../../../machinery/schema/schema.ts";

export const objectFieldSelector = object({
  goType: "v1.ObjectFieldSelector",
  description: "A field of the Pod.",
  isAtomic: true,
  fields: {
    apiVersion: {
      number: 1,
      schema: string,
      default: "v1",
      description: "The version of the schema that the path is of.",
    },
    fieldPath: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The field: `metadata.name`, `spec.nodeName`, ...",
    },
  },
});

export const resourceFieldSelector = object({
  goType: "v1.ResourceFieldSelector",
  description: "A resource of a container.",
  isAtomic: true,
  fields: {
    containerName: { number: 1, schema: string, description: "The container. Volumes need it." },
    resource: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The resource: `limits.cpu`, `requests.memory`, ...",
    },
    divisor: { number: 3, schema: quantity, presence: "always", description: "The unit in which it is shown." },
  },
});

const configMapKeySelector = object({
  goType: "v1.ConfigMapKeySelector",
  description: "A key of a ConfigMap.",
  isAtomic: true,
  fields: {
    ...embeddedIn(1, { name: { number: 1, schema: string, description: "The name of the ConfigMap." } }),
    key: { number: 2, schema: string, presence: "always", isRequired: true, description: "The key." },
    optional: { number: 3, schema: boolean, presence: "pointer", description: "Whether it may be missing." },
  },
});

const secretKeySelector = object({
  goType: "v1.SecretKeySelector",
  description: "A key of a Secret.",
  isAtomic: true,
  fields: {
    ...embeddedIn(1, { name: { number: 1, schema: string, description: "The name of the Secret." } }),
    key: { number: 2, schema: string, presence: "always", isRequired: true, description: "The key." },
    optional: { number: 3, schema: boolean, presence: "pointer", description: "Whether it may be missing." },
  },
});

const fileKeySelector = object({
  goType: "v1.FileKeySelector",
  description: "A key of a file with environment variables.",
  isAtomic: true,
  fields: {
    volumeName: {
      number: 1,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The volume that the file is in.",
    },
    path: {
      number: 2,
      schema: string,
      presence: "always",
      isRequired: true,
      description: "The file's path within the volume.",
    },
    key: { number: 3, schema: string, presence: "always", isRequired: true, description: "The key." },
    optional: { number: 4, schema: boolean, presence: "pointer", description: "Whether it may be missing." },
  },
});

const envVarSource = object({
  goType: "v1.EnvVarSource",
  description: "Where the value of an environment variable comes from.",
  fields: {
    fieldRef: { number: 1, schema: objectFieldSelector, presence: "pointer", description: "A field of the Pod." },
    resourceFieldRef: {
      number: 2,
      schema: resourceFieldSelector,
      presence: "pointer",
      description: "A resource of a container.",
    },
    configMapKeyRef: {
      number: 3,
      refersTo: { kind: "ConfigMap", nameIn: "name" },
      schema: configMapKeySelector,
      presence: "pointer",
      description: "A key of a ConfigMap.",
    },
    secretKeyRef: {
      number: 4,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: secretKeySelector,
      presence: "pointer",
      description: "A key of a Secret.",
    },
    fileKeyRef: {
      number: 5,
      schema: fileKeySelector,
      presence: "pointer",
      description: "A key of a file in a volume.",
    },
  },
});

export const envVar = object({
  goType: "v1.EnvVar",
  description: "An environment variable.",
  fields: {
    name: { number: 1, schema: string, presence: "always", isRequired: true, description: "The variable's name." },
    value: { number: 2, schema: string, description: "The variable's value; $(NAME) stands for earlier variables." },
    valueFrom: { number: 3, schema: envVarSource, presence: "pointer", description: "Where the value comes from." },
  },
});

const configMapEnvSource = object({
  goType: "v1.ConfigMapEnvSource",
  description: "A ConfigMap as a source of environment variables.",
  fields: {
    ...embeddedIn(1, { name: { number: 1, schema: string, description: "The name of the ConfigMap." } }),
    optional: { number: 2, schema: boolean, presence: "pointer", description: "Whether it may be missing." },
  },
});

const secretEnvSource = object({
  goType: "v1.SecretEnvSource",
  description: "A Secret as a source of environment variables.",
  fields: {
    ...embeddedIn(1, { name: { number: 1, schema: string, description: "The name of the Secret." } }),
    optional: { number: 2, schema: boolean, presence: "pointer", description: "Whether it may be missing." },
  },
});

export const envFromSource = object({
  goType: "v1.EnvFromSource",
  description: "A source of which all keys become environment variables.",
  fields: {
    prefix: { number: 1, schema: string, description: "Goes before each name." },
    configMapRef: {
      number: 2,
      refersTo: { kind: "ConfigMap", nameIn: "name" },
      schema: configMapEnvSource,
      presence: "pointer",
      description: "The ConfigMap.",
    },
    secretRef: {
      number: 3,
      refersTo: { kind: "Secret", nameIn: "name" },
      schema: secretEnvSource,
      presence: "pointer",
      description: "The Secret.",
    },
  },
});
