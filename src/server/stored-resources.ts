import type { Names } from "../machinery/api/names.ts";
import type { ApiObject } from "../machinery/api/object-meta.ts";
import type { ResourceDefinition } from "../machinery/registry/resource-definition.ts";
import { certificateSigningRequests } from "../features/certificates/requests/certificate-signing-requests.ts";
import { clusterTrustBundles } from "../features/certificates/bundles/cluster-trust-bundles.ts";
import { issuedCertificates } from "../features/certificates/inventory/issued-certificates.ts";
import { configMaps } from "../features/core/config-maps.ts";
import { events } from "../features/core/events.ts";
import { leases } from "../features/core/leases.ts";
import { namespaces } from "../features/core/namespaces.ts";
import { nodes } from "../features/nodes/nodes/nodes.ts";
import { pods } from "../features/nodes/pods/pods.ts";
import { clusterRoleBindings } from "../features/access/rbac/cluster-role-bindings.ts";
import { clusterRoles } from "../features/access/rbac/cluster-roles.ts";
import { roleBindings } from "../features/access/rbac/role-bindings.ts";
import { roles } from "../features/access/rbac/roles.ts";
import { secrets } from "../features/core/secrets.ts";
import { serviceAccounts } from "../features/accounts/service-accounts.ts";
import { withTableDescriptions } from "../machinery/registry/table-descriptions.ts";

/** Every kind that is stored. Discovery lists them in this order. */
export const storedResources = (names: Names): ResourceDefinition[] =>
  [
    forAnyObject(configMaps(names)),
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
