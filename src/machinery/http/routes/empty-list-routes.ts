import { documentRoute } from "./document-route.ts";
import type { PathRoutes } from "./path-routes.ts";

/**
 * Lists of kinds that are not served, for clients that first read such a list. kubectl looks for a
 * CustomResourceDefinition before it sends a kind that has no PATCH, as TokenReview, and fails when it cannot.
 * Discovery does not know the kind, so `kubectl get customresourcedefinitions` still says that there is no such type.
 */
export const emptyListRoutes: PathRoutes = new Map([
  [
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    documentRoute({
      kind: "CustomResourceDefinitionList",
      apiVersion: "apiextensions.k8s.io/v1",
      metadata: { resourceVersion: "1" },
      items: [],
    }),
  ],
]);
