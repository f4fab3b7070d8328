import type { Names } from "../api/names.ts";
import type { ApiObject } from "../api/object-meta.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import { certificateSigningRequests } from "./certificates/certificate-signing-requests.ts";
import { clusterTrustBundles } from "./certificates/cluster-trust-bundles.ts";
import { issuedCertificates } from "./certificates/issued-certificates.ts";
import { configMaps } from "./config-maps.ts";
import { events } from "./events.ts";
import { leases } from "./leases.ts";
import { namespaces } from "./namespaces.ts";
import { nodes } from "./nodes.ts";
import { pods } from "./pods.ts";
import { clusterRoleBindings } from "./rbac/cluster-role-bindings.ts";
import { clusterRoles } from "./rbac/cluster-roles.ts";
import { roleBindings } from "./rbac/role-bindings.ts";
import { roles } from "./rbac/roles.ts";
import { secrets } from "./secrets.ts";
import { serviceAccounts } from "./service-accounts.ts";
import { withTableDescriptions } from "./table-descriptions.ts";

/** Every kind that is stored. Discovery lists them in this order. */
export const storedResources = (names: Names): ResourceDefinition[] =>
  [
    forAnyObject(configMaps()),
    forAnyObject(events(names)),
    forAnyObject(namespaces(names)),
    forAnyObject(nodes(names)),
    forAnyObject(pods(names)),
    forAnyObject(secrets(names)),
    forAnyObject(serviceAccounts(names)),
    forAnyObject(certificateSigningRequests(names)),
    forAnyObject(clusterTrustBundles(names)),
    forAnyObject(leases(names)),
    forAnyObject(clusterRoleBindings(names)),
    forAnyObject(clusterRoles(names)),
    forAnyObject(roleBindings(names)),
    forAnyObject(roles(names)),
    forAnyObject(issuedCertificates(names)),
  ].map((definition) => withTableDescriptions(definition, names));

/** A registry gives a definition only objects that were decoded with its own schema, so that the kind may be forgotten. */
const forAnyObject = <T extends ApiObject>(definition: ResourceDefinition<T>): ResourceDefinition =>
  definition as unknown as ResourceDefinition;
