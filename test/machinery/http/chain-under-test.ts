import type { AuthorizationAttributes } from "../../../src/machinery/api/attributes.ts";
import { openIdRoutes } from "../../../src/features/accounts/tokens/discovery-documents.ts";
import type { HttpRequest, HttpResponse } from "../../../src/machinery/api/http-message.ts";
import type { UserInfo } from "../../../src/machinery/api/user-info.ts";
import { Registry } from "prom-client";
import { createApiServer } from "../../../src/machinery/http/api-server.ts";
import type { ApiServerOptions } from "../../../src/machinery/http/api-server.ts";
import type { Definition } from "../../../src/machinery/http/served-resources.ts";
import { object } from "../../../src/machinery/schema/schema.ts";
import type { ObjectSchema } from "../../../src/machinery/schema/schema.ts";
import type { ApiObject } from "../../../src/machinery/api/object-meta.ts";
import { sampleApi } from "../schema/sample-api.ts";

const schema = object({
  goType: "v1.Thing",
  description: "A thing.",
  fields: {},
}) as unknown as ObjectSchema<ApiObject>;

const stored = { schema, validateName: () => [], columns: [] };

const definitions: Definition[] = [
  {
    ...stored,
    group: "",
    version: "v1",
    kind: "ServiceAccount",
    plural: "serviceaccounts",
    shortNames: ["sa"],
    scope: "Namespaced",
    subresources: {
      token: {
        type: "create",
        group: "authentication.platform.io",
        version: "v1",
        kind: "TokenRequest",
        schema,
      },
    },
  },
  {
    ...stored,
    group: "",
    version: "v1",
    kind: "Namespace",
    plural: "namespaces",
    scope: "Cluster",
  },
  {
    ...stored,
    group: "certificates.platform.io",
    version: "v1",
    kind: "CertificateSigningRequest",
    plural: "certificatesigningrequests",
    scope: "Cluster",
    subresources: { approval: { type: "update", prepareForUpdate: (next) => next } },
  },
  {
    group: "authentication.platform.io",
    version: "v1",
    kind: "TokenReview",
    plural: "tokenreviews",
    scope: "Cluster",
    schema,
    create: () => Promise.reject(new Error("unused")),
  },
];

export const alice: UserInfo = { username: "alice", groups: ["system:authenticated"], extra: {} };

interface Server {
  send(line: string, headers?: Record<string, string>): Promise<HttpResponse>;
  /** Sends a request with parts that differ from those of most. */
  sendRequest(line: string, parts: Partial<HttpRequest>): Promise<HttpResponse>;
  readonly logged: { readonly fields: object; readonly message: string }[];
  readonly decided: AuthorizationAttributes[];
}

export function serverWith(changes: Partial<ApiServerOptions> = {}): Server {
  const logged: Server["logged"] = [];
  const decided: AuthorizationAttributes[] = [];
  const document = { cacheControl: "public, max-age=3600", body: "{}" };
  const { handler } = createApiServer({
    definitions,
    waitForFreshCache: () => undefined,
    authenticate: () => alice,
    refuseRevoked: () => {},
    impersonate: (_request, { user }) => ({ user }),
    withoutIdentity: (request) => request,
    identityWarnings: () => [],
    authorize: (attributes) => {
      decided.push(attributes);
      return { decision: "allow", reason: "" };
    },
    handleResource: ({ info }) => ({ status: 200, headers: {}, body: `${info.verb} ${info.resource}` }),
    api: sampleApi,
    pathRoutes: openIdRoutes(() => ({ configuration: document, keys: document })),
    healthChecks: [],
    log: { error: (fields, message) => logged.push({ fields, message }) },
    serverAddress: () => "127.0.0.1:6443",
    openStreams: () => 0,
    audit: undefined,
    maximumReads: 400,
    maximumWrites: 200,
    maximumWatches: 100_000,
    registry: new Registry(),
    otherMetrics: undefined,
    onAnswered: () => {},
    onStreamStarted: () => () => {},
    ...changes,
  });
  const sendRequest: Server["sendRequest"] = (line, parts) => {
    const [method = "", target = ""] = line.split(" ");
    const [path = "", query = ""] = target.split("?");
    const request: HttpRequest = {
      method,
      path,
      query,
      headers: {},
      connection: { remoteAddress: "127.0.0.1", peerCertificates: [] },
      readBody: () => Promise.resolve(Buffer.alloc(0)),
      signal: new AbortController().signal,
      ...parts,
    };
    return handler(request);
  };
  return { send: (line, headers = {}) => sendRequest(line, { headers }), sendRequest, logged, decided };
}

export const parsed = (response: HttpResponse): Record<string, unknown> =>
  JSON.parse(String(response.body)) as Record<string, unknown>;
