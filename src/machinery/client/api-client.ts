import { ApiError, badRequest } from "../api/api-error.ts";
import { isJsonObject, jsonFields, parseJsonObject } from "../api/json/json-object.ts";
import { equalFields } from "../api/selectors/field-selector.ts";
import { pathSegmentFaults } from "../api/validation/name-validation.ts";
import type { ApiList, ApiObject } from "../api/object-meta.ts";
import { apiPathOf, apiVersionOf } from "../api/resource-type.ts";
import type { ResourceType } from "../api/resource-type.ts";
import { patchMediaTypes } from "../api/patch-type.ts";
import type { PatchType } from "../api/patch-type.ts";
import { boundedText } from "./bounded-text.ts";
import { ignoreCodes } from "./ignore-codes.ts";
import { receivedStatus } from "./received-status.ts";
import type { ReceivedStatus } from "./received-status.ts";
import { retryAfterSecondsOf } from "./retry-after.ts";
import { AnswerTooLarge, readText, UnreadableAnswer } from "./transport.ts";
import type { ClientResponse, Transport } from "./transport.ts";
import { watchEvents } from "./watch-events.ts";
import type { WatchEvent } from "./watch-events.ts";

export interface ListOptions {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
  readonly resourceVersion?: string;
  readonly limit?: number;
  readonly continue?: string;
}

export interface WatchOptions extends ListOptions {
  readonly allowsBookmarks?: boolean;
  readonly timeoutSeconds?: number;
  /** Called when the server has begun to answer. The first event may come much later. */
  readonly onOpen?: () => void;
}

export interface WriteOptions {
  readonly isDryRun?: boolean;
  readonly fieldManager?: string;
}

export interface DeleteOptions extends WriteOptions {
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
  readonly gracePeriodSeconds?: number;
}

/** An object to create: the client fills in `apiVersion` and `kind`, the server `status`. */
export type NewObject<T extends ApiObject> = Omit<T, "apiVersion" | "kind" | "status"> & Partial<T>;

const shortestWatchSeconds = 300;
/** The limit for an answer with one object, a page of objects, or a part of discovery: servers store no object of more than 3 MiB. */
const largestAnswerBytes = 16 * 2 ** 20;

/**
 * A typed API client over any transport. Every method rejects with the ApiError of the server's Status, or with the
 * transport's error when there was no answer.
 */
export class ApiClient {
  readonly #transport: Transport;
  readonly #explain: (error: ApiError) => string;

  /** `explain` makes the message of each error of the server. Default: the server's message. */
  constructor(transport: Transport, { explain = ({ message }) => message }: ApiClientOptions = {}) {
    this.#transport = transport;
    this.#explain = explain;
  }

  /** The operations on one resource, in one namespace; "" is all namespaces, or a cluster-scoped resource. */
  resource<T extends ApiObject>(type: ResourceType<T>, namespace = ""): ResourceClient<T> {
    return new ResourceClient(this, { type, namespace });
  }

  /** Sends a JSON request to any path and returns the JSON of the answer. */
  async request<T>(path: string, { kinds, largestBytes, ...options }: RequestOptions = {}): Promise<T> {
    const response = await this.#send(path, options);
    const mostBytes = largestBytes ?? (kinds === undefined ? Infinity : largestAnswerBytes);
    const answer = response.value ?? (await this.#readAnswer(response, mostBytes));
    if (kinds !== undefined) checkKind(answer, kinds);
    return answer as T; // the server answers with the requested kind
  }

  /**
   * Makes two writes, each with the client that it is given. When the server is in this process, they are one transaction: both are
   * written, or none. Over a connection, the second write is made after the first, and only if the first succeeds. Rejects with the error
   * of the write that failed.
   */
  async together<A, B>(
    first: (client: ApiClient) => Promise<A>,
    second: (client: ApiClient) => Promise<B>,
  ): Promise<[A, B]> {
    const [one, other] = this.#transport.together?.(2) ?? [];
    if (one === undefined || other === undefined) return [await first(this), await second(this)];
    const client = (transport: Transport): ApiClient => new ApiClient(transport, { explain: this.#explain });
    const write = async <T>(transport: typeof one, make: (client: ApiClient) => Promise<T>): Promise<T> => {
      try {
        return await make(client(transport));
      } finally {
        transport.end();
      }
    };
    const [left, right] = await Promise.allSettled([write(one, first), write(other, second)]);
    if (left.status === "fulfilled" && right.status === "fulfilled") return [left.value, right.value];
    const errors = [left, right].flatMap((outcome) =>
      outcome.status === "rejected" ? [outcome.reason as unknown] : [],
    );
    // A conflict may mean only that the other write was refused.
    throw errors.find((error) => !(error instanceof ApiError && error.reason === "Conflict")) ?? errors[0];
  }

  #send(
    path: string,
    {
      method = "GET",
      query,
      body,
      accept = "application/json",
      contentType = "application/json",
      signal,
    }: Omit<RequestOptions, "kinds" | "largestBytes">,
  ): Promise<ClientResponse> {
    return this.#transport.send({
      method,
      path,
      ...(query !== undefined && { query }),
      ...(signal !== undefined && { signal }),
      headers: { accept, ...(body !== undefined && { "content-type": contentType }) },
      ...(body !== undefined && { body }),
    });
  }

  async #readAnswer(response: ClientResponse, mostBytes: number): Promise<object> {
    const text = await boundedText(response.body, mostBytes);
    if (text === undefined) throw new AnswerTooLarge(mostBytes);
    if (response.status >= 300) throw this.#errorOf(response, text);
    return parseAnswer(text);
  }

  /** Sends a request whose answer is a stream. */
  async stream(path: string, options: Pick<RequestOptions, "method" | "query" | "signal">): Promise<ClientResponse> {
    const response = await this.#send(path, options);
    if (response.status >= 300) throw this.#errorOf(response, await readText(response.body));
    return response;
  }

  /** Reads a path that returns text (`/healthz`, `/metrics`). */
  async text(path: string): Promise<string> {
    const response = await this.#transport.send({ method: "GET", path });
    const text = await readText(response.body);
    if (response.status >= 300) throw this.#errorOf(response, text);
    return text;
  }

  close(): void {
    this.#transport.close();
  }

  /** Converts a failed answer to an error. An answer that is not a Status keeps its code, its text and its Retry-After. */
  #errorOf({ status: code, headers }: ClientResponse, text: string): ApiError {
    const status = parseStatus(text);
    const retryAfterSeconds = retryAfterSecondsOf(headers);
    const said = status === undefined ? text.slice(0, 500).toWellFormed() : status.message;
    const options = {
      code,
      message: said || `the server answered ${code}`,
      reason: status?.reason,
      details: retryAfterSeconds === undefined ? status?.details : { retryAfterSeconds, ...status?.details },
    };
    return new ApiError({ ...options, message: this.#explain(new ApiError(options)) });
  }
}

interface ApiClientOptions {
  readonly explain?: (error: ApiError) => string;
}

interface RequestOptions {
  /** Default: GET. */
  readonly method?: string;
  readonly query?: string;
  /** A JSON value, which must not change from now on. */
  readonly body?: object;
  /** The kinds that the answer may have; any other is an UnreadableAnswer. Default: any. */
  readonly kinds?: readonly string[];
  /** A longer answer is an AnswerTooLarge. Default: 16 MiB with `kinds`, which are single objects, else the limit of the transport. */
  readonly largestBytes?: number;
  /** Default: JSON. */
  readonly accept?: string;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

interface PatchOptions extends WriteOptions {
  /** The patch, in the format of `type`. */
  readonly body: object;
  /** Default: merge. */
  readonly type?: PatchType;
  readonly subresource?: string;
  readonly isForced?: boolean;
}

/** The operations on one resource in one namespace. */
export class ResourceClient<T extends ApiObject> {
  readonly #client: ApiClient;
  readonly #type: ResourceType<T>;
  readonly #kinds: readonly string[];
  readonly #collection: string;

  constructor(client: ApiClient, { type, namespace }: { readonly type: ResourceType<T>; readonly namespace: string }) {
    this.#client = client;
    this.#type = type;
    this.#kinds = [type.kind];
    this.#collection = collectionPath(type, namespace);
  }

  async get(name: string): Promise<T> {
    return this.#client.request(this.#item(name), { kinds: this.#kinds });
  }

  /** Returns the object. Undefined: the server answers 404, or the name is not valid for any object. */
  async find(name: string): Promise<T | undefined> {
    return nameFault(name) === undefined ? ignoreCodes([404], this.get(name)) : undefined;
  }

  list(options: ListOptions = {}): Promise<ApiList<T>> {
    return this.#list({ query: listQuery(options) });
  }

  /** Lists a page of at most `limit` objects. Rejects with AnswerTooLarge when it has more than 16 MiB: ask for fewer objects then. */
  listPage(options: ListOptions & { readonly limit: number }): Promise<ApiList<T>> {
    return this.#list({ query: listQuery(options), largestBytes: largestAnswerBytes });
  }

  async #list(options: Pick<RequestOptions, "query" | "largestBytes">): Promise<ApiList<T>> {
    const list = await this.#client.request<ApiList<T>>(this.#collection, options);
    if (!Array.isArray(list.items) || !isJsonObject(list.metadata))
      throw new UnreadableAnswer("the answer is not a list");
    return list;
  }

  /** Lists only the metadata of the objects, because the rest may be large. */
  async listMetadata(options: ListOptions = {}): Promise<readonly Pick<ApiObject, "metadata">[]> {
    const accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";
    const { items } = await this.#client.request<{ readonly items: readonly ApiObject[] | null }>(this.#collection, {
      query: listQuery(options),
      accept,
    });
    // null when empty, as in upstream.
    if (items !== null && !Array.isArray(items)) throw new UnreadableAnswer("the answer is not a list");
    return items ?? [];
  }

  /**
   * Follows changes until the server ends the watch or `signal` aborts. Without `timeoutSeconds`, the server ends the watch after
   * five to ten minutes (upstream: client-go's reflector), so that no watch outlives its connection.
   */
  async *watch(options: WatchOptions, signal: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    const timeoutSeconds = options.timeoutSeconds ?? Math.round(shortestWatchSeconds * (1 + Math.random()));
    const query = listQuery({ ...options, timeoutSeconds }, { watch: "true" });
    const { body } = await this.#client.stream(this.#collection, { query, signal });
    options.onOpen?.();
    yield* watchEvents<T>(body);
  }

  /**
   * Follows one object, as `watch` does, without bookmarks. Omits events of other objects, which a server that ignores field selectors
   * sends.
   */
  async *watchOne(
    { name, ...options }: Pick<WatchOptions, "resourceVersion" | "timeoutSeconds"> & { readonly name: string },
    signal: AbortSignal,
  ): AsyncGenerator<WatchEvent<T>> {
    const fieldSelector = equalFields({ "metadata.name": name });
    for await (const event of this.watch({ ...options, fieldSelector }, signal)) {
      if (event.type !== "BOOKMARK" && event.object.metadata.name === name) yield event;
    }
  }

  create(object: NewObject<T>, options: WriteOptions = {}): Promise<T> {
    return this.#client.request(this.#collection, {
      method: "POST",
      query: writeQuery(options),
      body: this.#typed(object),
      kinds: this.#kinds,
    });
  }

  /** Creates a subresource that has its own kind, such as a ServiceAccount's token. */
  async createSubresource<S extends ApiObject>(
    name: string,
    { subresource, object }: { readonly subresource: string; readonly object: S },
  ): Promise<S> {
    const kinds = [object.kind, "Status"];
    return this.#client.request(`${this.#item(name)}/${subresource}`, { method: "POST", body: object, kinds });
  }

  async update(object: T, options: WriteOptions & { readonly subresource?: string } = {}): Promise<T> {
    return this.#client.request(this.#item(object.metadata.name ?? "", options.subresource), {
      method: "PUT",
      query: writeQuery(options),
      body: this.#typed(object),
      kinds: this.#kinds,
    });
  }

  async patch(
    name: string,
    { body, type = "merge", subresource, isForced = false, ...options }: PatchOptions,
  ): Promise<T> {
    return this.#client.request(this.#item(name, subresource), {
      method: "PATCH",
      query: writeQuery(options, isForced ? { force: "true" } : undefined),
      body,
      kinds: this.#kinds,
      contentType: patchMediaTypes[type],
    });
  }

  async delete(name: string, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds } = options;
    await this.#client.request(this.#item(name), {
      method: "DELETE",
      query: writeQuery(options),
      kinds: [...this.#kinds, "Status"],
      body: {
        kind: "DeleteOptions",
        apiVersion: "v1",
        ...((uid !== undefined || resourceVersion !== undefined) && { preconditions: { uid, resourceVersion } }),
        ...(propagationPolicy !== undefined && { propagationPolicy }),
        ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
        ...(options.isDryRun === true && { dryRun: ["All"] }),
      },
    });
  }

  /** Deletes a collection. Does not parse the answer, which may contain all deleted objects: that would block the process. */
  async deleteCollection({
    propagationPolicy,
    ...options
  }: ListOptions & Pick<DeleteOptions, "propagationPolicy"> = {}): Promise<void> {
    const query = listQuery(options, propagationPolicy === undefined ? {} : { propagationPolicy });
    const { body } = await this.#client.stream(this.#collection, { method: "DELETE", query });
    for await (const _chunk of body);
  }

  /** Throws a 400 for a name that would make another path, such as the path of a subresource or of the collection (as client-go). */
  #item(name: string, subresource?: string): string {
    const fault = nameFault(name);
    if (fault !== undefined) throw badRequest(`invalid resource name ${JSON.stringify(name)}: ${fault}`);
    return `${this.#collection}/${encodeURIComponent(name)}${subresource === undefined ? "" : `/${subresource}`}`;
  }

  #typed(object: NewObject<T>): object {
    return { ...object, apiVersion: apiVersionOf(this.#type), kind: this.#type.kind };
  }
}

/** Why no object can have the name. Undefined: an object can have it. */
const nameFault = (name: string): string | undefined => (name === "" ? "may not be empty" : pathSegmentFaults(name)[0]);

/**
 * The path of a collection: `/api/v1/namespaces/NS/serviceaccounts`. Throws a 400 for a namespace that would make another path (as
 * client-go): a proxy may take `/namespaces/../secrets` for the Secrets of all namespaces.
 */
export function collectionPath(type: ResourceType, namespace: string): string {
  const [fault] = pathSegmentFaults(namespace);
  if (fault !== undefined) throw badRequest(`invalid namespace ${JSON.stringify(namespace)}: ${fault}`);
  return `${apiPathOf(type)}${namespace === "" ? "" : `/namespaces/${encodeURIComponent(namespace)}`}/${type.plural}`;
}

function listQuery(options: WatchOptions, more: Record<string, string> = {}): string {
  const query = new URLSearchParams(more);
  if (options.labelSelector !== undefined) query.set("labelSelector", options.labelSelector);
  if (options.fieldSelector !== undefined) query.set("fieldSelector", options.fieldSelector);
  if (options.resourceVersion !== undefined) query.set("resourceVersion", options.resourceVersion);
  if (options.limit !== undefined) query.set("limit", String(options.limit));
  if (options.continue !== undefined) query.set("continue", options.continue);
  if (options.allowsBookmarks === true) query.set("allowWatchBookmarks", "true");
  if (options.timeoutSeconds !== undefined) query.set("timeoutSeconds", String(options.timeoutSeconds));
  return query.toString();
}

function writeQuery({ isDryRun = false, fieldManager }: WriteOptions, more?: Record<string, string>): string {
  if (!isDryRun && fieldManager === undefined && more === undefined) return "";
  const query = new URLSearchParams(more);
  if (isDryRun) query.set("dryRun", "All");
  if (fieldManager !== undefined) query.set("fieldManager", fieldManager);
  return query.toString();
}

/** Parses the body of an answer. Throws an UnreadableAnswer for everything but a JSON object, which API servers answer with. */
function parseAnswer(text: string): object {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch (cause) {
    throw new UnreadableAnswer("the answer is not JSON, or only a part of it came", { cause });
  }
  if (isJsonObject(answer)) return answer;
  throw new UnreadableAnswer("the answer is JSON, but not an object");
}

/** Throws an UnreadableAnswer for other kinds: a server that is not an API server may answer with JSON too. */
function checkKind(answer: object, kinds: readonly string[]): void {
  const { kind, metadata } = jsonFields(answer);
  if (typeof kind === "string" && kinds.includes(kind) && isJsonObject(metadata)) return;
  throw new UnreadableAnswer(`the answer is not a ${kinds[0]}`);
}

/** Parses a Status. Undefined for other bodies, such as a proxy's page or a health check's text. */
const parseStatus = (text: string): ReceivedStatus | undefined => receivedStatus(parseJsonObject(text));
