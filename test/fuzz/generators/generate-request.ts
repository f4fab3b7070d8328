import { sampleFields } from "../../profiles/sample-objects.ts";
import type { Framing, FuzzRequest, Header } from "../fuzz-request.ts";
import { hostileText } from "../mutations/hostile-text.ts";
import { mutateJson } from "../mutations/mutate-json.ts";
import type { StoredKind } from "../served-kinds.ts";
import { namespaces, objectNames } from "../vocabulary.ts";
import { generateBody, jsonOf, withBrokenBytes, yamlOf } from "./generate-body.ts";
import type { Body } from "./generate-body.ts";
import { generateCertificate, generateCredentials, headerText } from "./generate-credentials.ts";
import { generateJsonPatch, generateMergePatch, generateStrategicPatch } from "./generate-patch.ts";
import { generateQuery, printable } from "./generate-query.ts";
import type { QuerySort } from "./generate-query.ts";
import { generateApiObject } from "./generate-value.ts";
import { anyOf, inPercent } from "./generator-context.ts";
import type { GeneratorContext } from "./generator-context.ts";

/** The contents of the request, before it is encoded. */
interface Call {
  readonly method: string;
  readonly path: string;
  readonly querySort: QuerySort;
  /** Options that are never left out or changed. */
  readonly fixedQuery?: string;
  readonly body?: Body;
}

const noBytes = Buffer.alloc(0);
const applyType = "application/apply-patch+yaml";
/** The listener's own limit. Above it, the server would only refuse the size of the body. */
const maximumBodyBytes = 3 * 1024 * 1024 + 1;

/** One input, determined only by the context's random numbers. */
export function generateRequest(context: GeneratorContext): FuzzRequest {
  const { random } = context;
  const protocol = random.pick<FuzzRequest["protocol"]>(["http/1.1", "h2"]);
  const turn = random.next();
  const call = turn < 0.2 ? reviewCall(context) : turn < 0.95 ? resourceCall(context) : strayCall(context);
  const query = [call.fixedQuery ?? "", generateQuery(call.querySort, context)].filter((part) => part !== "").join("&");
  const body = call.body?.bytes.subarray(0, maximumBodyBytes) ?? noBytes;
  const peerCertificate = inPercent(random, 3) ? generateCertificate(context) : undefined;
  const headers = [...generateCredentials(context), ...bodyHeaders(call, context), ...otherHeaders(context)];
  return {
    protocol,
    method: inPercent(random, 98) ? call.method : random.pick(["HEAD", "OPTIONS", "TRACE", "PUT", "BREW", "get"]),
    target: printable(query === "" ? call.path : `${call.path}?${query}`),
    headers: peerCertificate === undefined ? headers : headers.filter(([name]) => name !== "authorization"),
    body,
    framing: body.length > 0 && inPercent(random, 6) ? framingOf(context) : "length",
    ...(peerCertificate !== undefined && { peerCertificate }),
  };
}

function reviewCall(context: GeneratorContext): Call {
  const { random, kinds } = context;
  const review = anyOf(random, kinds.reviews);
  const key = { namespace: random.pick([...namespaces]), name: random.pick(["robot", "robot", "default", "absent"]) };
  const object = generateApiObject(review, key, { context });
  if (inPercent(random, 60)) delete object["metadata"];
  const body = generateBody(object, { schema: review.schema, context });
  return { method: "POST", path: review.target(key.namespace, key.name), querySort: "write", body };
}

function resourceCall(context: GeneratorContext): Call {
  const { random, kinds, names } = context;
  const kind = anyOf(random, kinds.stored);
  const namespace = kind.isNamespaced ? random.pick([...namespaces]) : "";
  const name = nameOf(kind, context);
  const collection = `${kind.root}/${namespace === "" || inPercent(random, 5) ? "" : `namespaces/${namespace}/`}${kind.plural}`;
  const path = `${collection}/${encodeURIComponent(name.toWellFormed())}${subresourceOf(kind, context)}`;
  const sample = sampleFields(names, { kind: kind.kind }) ?? {};
  const object = generateApiObject(kind, { namespace, name }, { context, sample });
  const turn = random.next();
  if (turn < 0.1) return { method: "GET", path, querySort: "read" };
  if (turn < 0.22) return { method: "GET", path: collection, querySort: "list" };
  if (turn < 0.28) return { method: "DELETE", path, querySort: "delete", ...deleteBody(context) };
  if (turn < 0.29) {
    // Without its own roles and bindings the server would only refuse everything from then on.
    const fixedQuery = kind.isNamespaced ? "" : "dryRun=All";
    return { method: "DELETE", path: collection, querySort: "delete", fixedQuery };
  }
  if (turn < 0.52) {
    return {
      method: "POST",
      path: collection,
      querySort: "write",
      body: generateBody(object, { schema: kind.schema, context }),
    };
  }
  if (turn < 0.68) {
    return { method: "PUT", path, querySort: "write", body: generateBody(object, { schema: kind.schema, context }) };
  }
  return patchCall({ path, kind, object }, context);
}

function nameOf({ kind }: StoredKind, { random }: GeneratorContext): string {
  if (inPercent(random, 4)) return hostileText(random);
  if (kind === "Namespace") return random.pick([...namespaces, "fuzz-c"]);
  // Objects that the scene has made are more frequent than objects that may not exist.
  if (inPercent(random, 55)) return kind === "Node" ? "node-1" : "robot";
  return random.pick([...objectNames]);
}

function subresourceOf({ subresources }: StoredKind, { random }: GeneratorContext): string {
  if (subresources.length > 0 && inPercent(random, 35)) return `/${anyOf(random, subresources)}`;
  return inPercent(random, 2) ? random.pick(["/status", "/token", "/x", "/status/x", "//", "/..", "/%2e%2e/%00"]) : "";
}

function patchCall(
  {
    path,
    kind,
    object,
  }: { readonly path: string; readonly kind: StoredKind; readonly object: Record<string, unknown> },
  context: GeneratorContext,
): Call {
  const { random } = context;
  const [contentType, generate] = random.pick<readonly [string, () => unknown]>([
    ["application/json-patch+json", () => generateJsonPatch(kind.schema, context)],
    ["application/merge-patch+json", () => generateMergePatch(object, context)],
    ["application/strategic-merge-patch+json", () => generateStrategicPatch(object, context)],
    [applyType, () => object],
  ]);
  const generated = generate();
  const value = inPercent(random, 40) ? mutateJson(generated, random) : generated;
  const isApply = contentType === applyType;
  const bytes = isApply ? yamlOf(value, context) : jsonOf(value, context);
  const body = withBrokenBytes({ contentType, bytes }, context);
  return { method: "PATCH", path, querySort: isApply ? "apply" : "write", body };
}

function deleteBody(context: GeneratorContext): { readonly body?: Body } {
  const { random, vocabulary } = context;
  if (inPercent(random, 50)) return {};
  const options = {
    kind: "DeleteOptions",
    apiVersion: "v1",
    ...(inPercent(random, 30) && { gracePeriodSeconds: random.pick([0, 1, -1, 2 ** 40]) }),
    ...(inPercent(random, 30) && { propagationPolicy: random.pick(["Foreground", "Background", "Orphan", ""]) }),
    ...(inPercent(random, 30) && { preconditions: { uid: random.pick([...vocabulary.uids]) } }),
    ...(inPercent(random, 10) && { dryRun: random.pick([["All"], [], ["x"]]) }),
  };
  const value = inPercent(random, 30) ? mutateJson(options, random) : options;
  return { body: withBrokenBytes({ contentType: "application/json", bytes: jsonOf(value, context) }, context) };
}

const strayPaths = [
  "/",
  "/api",
  "/apis",
  "/version",
  "/healthz",
  "/livez",
  "/readyz",
  "/metrics",
  "/openapi/v2",
  "/openapi/v3",
  "/openid/v1/jwks",
  "/.well-known/openid-configuration",
  "/api/v1/watch/secrets",
  "/apis/x/v1/y",
  "/api/v1/namespaces/fuzz-a/pods/a/log",
  "//api//v1",
  "/api/v1/namespaces/%2e%2e/secrets",
  "/%61pi/v1/secrets",
  "/api/v1/namespaces/fuzz-a%2fsecrets",
  "/api/v1/componentstatuses",
] as const;

/** Requests beside the kinds: documents, health, and paths that mean nothing or seem to mean something else. */
function strayCall(context: GeneratorContext): Call {
  const { random } = context;
  const path = random.pick([...strayPaths]);
  const suffix = inPercent(random, 20) ? `/${encodeURIComponent(hostileText(random).toWellFormed())}` : "";
  return { method: random.pick(["GET", "GET", "GET", "POST", "DELETE"]), path: path + suffix, querySort: "read" };
}

const mediaTypes = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
  "application/json;as=Table;v=v1;g=meta.k8s.io",
  "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
  "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
  "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
  "application/json;stream=watch",
  "*/*",
  "text/html",
  "application/json;q=0.1,application/yaml;q=1e9",
] as const;

function bodyHeaders({ body }: Call, { random }: GeneratorContext): Header[] {
  if (body === undefined) return [];
  if (inPercent(random, 96)) return [["content-type", body.contentType]];
  return inPercent(random, 30)
    ? []
    : [["content-type", random.pick([...mediaTypes, "application/json; charset=x;;", ""])]];
}

const otherNames = [
  "user-agent",
  "accept-encoding",
  "content-encoding",
  "if-match",
  "if-none-match",
  "range",
  "expect",
  "x-http-method-override",
  "x-forwarded-for",
  "audit-id",
  "traceparent",
  "cookie",
  "origin",
  "kubectl-command",
  "x-a",
] as const;

function otherHeaders({ random }: GeneratorContext): Header[] {
  const headers: Header[] = [];
  if (inPercent(random, 50))
    headers.push(["accept", inPercent(random, 50) ? "application/json" : random.pick([...mediaTypes])]);
  while (inPercent(random, 12)) {
    const value = inPercent(random, 50)
      ? random.pick(["gzip", "100-continue", "*", "bytes=0-1", "DELETE", "close"])
      : hostileText(random);
    headers.push([random.pick([...otherNames]), headerText(value)]);
  }
  if (inPercent(random, 0.3)) headers.push(...Array.from({ length: 600 }, (_, index): Header => [`x-${index}`, "v"]));
  return headers;
}

const framings: readonly Framing[] = [
  "chunked",
  "chunked",
  "chunked",
  "broken-chunks",
  "two-lengths",
  "length-and-chunked",
  "cut-short",
];
const framingOf = ({ random }: GeneratorContext): Framing => anyOf(random, framings);
