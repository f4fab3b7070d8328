import { boolean, embeddedIn, quantity, string } from "../../../../machinery/schema/schema.ts";
import {
  always,
  atomicStruct,
  omitEmpty,
  pointer,
  refersTo,
  required,
  struct,
} from "../../../../machinery/schema/struct.ts";

export const objectFieldSelector = atomicStruct("v1.ObjectFieldSelector", "A field of the Pod.", {
  apiVersion: omitEmpty(1, string, "The version of the schema that the path is of.", { default: "v1" }),
  fieldPath: required(2, string, "The field: `metadata.name`, `spec.nodeName`, ..."),
});

export const resourceFieldSelector = atomicStruct("v1.ResourceFieldSelector", "A resource of a container.", {
  containerName: omitEmpty(1, string, "The container. Volumes need it."),
  resource: required(2, string, "The resource: `limits.cpu`, `requests.memory`, ..."),
  divisor: always(3, quantity, "The unit in which it is shown."),
});

const configMapKeySelector = atomicStruct("v1.ConfigMapKeySelector", "A key of a ConfigMap.", {
  ...embeddedIn(1, { name: omitEmpty(1, string, "The name of the ConfigMap.") }),
  key: required(2, string, "The key."),
  optional: pointer(3, boolean, "Whether it may be missing."),
});

const secretKeySelector = atomicStruct("v1.SecretKeySelector", "A key of a Secret.", {
  ...embeddedIn(1, { name: omitEmpty(1, string, "The name of the Secret.") }),
  key: required(2, string, "The key."),
  optional: pointer(3, boolean, "Whether it may be missing."),
});

const fileKeySelector = atomicStruct("v1.FileKeySelector", "A key of a file with environment variables.", {
  volumeName: required(1, string, "The volume that the file is in."),
  path: required(2, string, "The file's path within the volume."),
  key: required(3, string, "The key."),
  optional: pointer(4, boolean, "Whether it may be missing.", { default: false }),
});

const envVarSource = struct("v1.EnvVarSource", "Where the value of an environment variable comes from.", {
  fieldRef: pointer(1, objectFieldSelector, "A field of the Pod."),
  resourceFieldRef: pointer(2, resourceFieldSelector, "A resource of a container."),
  configMapKeyRef: pointer(3, configMapKeySelector, "A key of a ConfigMap.", refersTo("ConfigMap", "name")),
  secretKeyRef: pointer(4, secretKeySelector, "A key of a Secret.", refersTo("Secret", "name")),
  fileKeyRef: pointer(5, fileKeySelector, "A key of a file in a volume."),
});

export const envVar = struct("v1.EnvVar", "An environment variable.", {
  name: required(1, string, "The variable's name."),
  value: omitEmpty(2, string, "The variable's value; $(NAME) stands for earlier variables."),
  valueFrom: pointer(3, envVarSource, "Where the value comes from."),
});

const configMapEnvSource = struct("v1.ConfigMapEnvSource", "A ConfigMap as a source of environment variables.", {
  ...embeddedIn(1, { name: omitEmpty(1, string, "The name of the ConfigMap.") }),
  optional: pointer(2, boolean, "Whether it may be missing."),
});

const secretEnvSource = struct("v1.SecretEnvSource", "A Secret as a source of environment variables.", {
  ...embeddedIn(1, { name: omitEmpty(1, string, "The name of the Secret.") }),
  optional: pointer(2, boolean, "Whether it may be missing."),
});

export const envFromSource = struct("v1.EnvFromSource", "A source of which all keys become environment variables.", {
  prefix: omitEmpty(1, string, "Goes before each name."),
  configMapRef: pointer(2, configMapEnvSource, "The ConfigMap.", refersTo("ConfigMap", "name")),
  secretRef: pointer(3, secretEnvSource, "The Secret.", refersTo("Secret", "name")),
});
