export { namespaceResource, configMapResource, secretResource, eventResource, leaseResource } from "./resources.ts";
