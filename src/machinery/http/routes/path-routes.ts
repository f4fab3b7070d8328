import { routeMethodNotAllowed, routeNotAcceptable } from "../../api/api-error.ts";
import type { HttpRequest, HttpResponse } from "../../api/http-message.ts";
import type { MaybePromise } from "../../api/maybe-promise.ts";
import { routeAccepts } from "../accept-header.ts";
import { textResponse } from "../response.ts";

/** Answers a path outside the resource API. */
export interface PathRoute {
  /** `get`: other methods get a 405. `any`: every method gets the same answer. */
  readonly methods: "get" | "any";
  /** Whether the path may end with a slash. Default: only for `get`. */
  readonly allowsSlash?: boolean;
  /** The media types that the Accept header must allow, else 406. Absent: the header is ignored. */
  readonly produces?: readonly string[];
  handle(request: HttpRequest): MaybePromise<HttpResponse>;
}

/** Routes by path. A path with a trailing slash, such as `/pki/`, is for everything below it. */
export type PathRoutes = ReadonlyMap<string, PathRoute>;

/** Answers a path, after authorization. Undefined when no route matches. */
export function routePath(
  routes: PathRoutes,
  { path, request }: { readonly path: string; readonly request: HttpRequest },
): MaybePromise<HttpResponse> | undefined {
  const route = routes.get(path) ?? routeWithSlash(routes, path) ?? folderRoute(routes, path);
  if (route === undefined) return undefined;
  if (route.methods === "get" && request.method !== "GET") throw routeMethodNotAllowed();
  const accept = request.headers["accept"];
  if (route.produces && accept && !routeAccepts(String(accept), route.produces))
    throw routeNotAcceptable(route.produces);
  return route.handle(request);
}

function routeWithSlash(routes: PathRoutes, path: string): PathRoute | undefined {
  if (!path.endsWith("/")) return undefined;
  const route = routes.get(path.slice(0, -1));
  if (route === undefined) return undefined;
  return (route.allowsSlash ?? route.methods === "get") ? route : undefined;
}

/** The route for everything below the first segment. */
const folderRoute = (routes: PathRoutes, path: string): PathRoute | undefined =>
  routes.get(path.slice(0, path.indexOf("/", 1) + 1));

/** Adds the list of all paths at `/` and `/index.html`. */
export function withIndex(routes: PathRoutes): PathRoutes {
  const paths = [...routes.keys()].sort();
  const index: PathRoute = {
    methods: "any",
    handle: (request) =>
      textResponse({ paths }, { request, status: 200, mediaType: { format: "json", contentType: "", isPretty: true } }),
  };
  return new Map([...routes, ["/", index], ["/index.html", index]]);
}
