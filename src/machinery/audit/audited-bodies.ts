import type { GroupResource } from "../api/resource-type.ts";
import { isJsonObject, jsonFields } from "../api/json/json-object.ts";
import { isWholeBody } from "../api/is-whole-body.ts";
import type { HttpResponse } from "../api/http-message.ts";
import type { ParsedRequestInfo } from "../http/request-info.ts";
import { contentTypes } from "../http/negotiation.ts";
import { compiledStatus } from "../http/response.ts";
import { yamlToJson } from "../http/yaml/yaml-to-json.ts";
import { CompiledSchema } from "../registry/definition/compiled-schema.ts";
import { compiledPartialMetadata, compiledPartialMetadataList } from "../registry/reads/partial-object-metadata.ts";
import type { CreateSubresource, ResourceDefinition } from "../registry/definition/resource-definition.ts";
import type { ReviewDefinition } from "../registry/definition/review-definition.ts";
import { parseExactly } from "../schema/parse-json.ts";
import { decodeEnvelope } from "../schema/protobuf/protobuf-envelope.ts";
import { leaveManagedFieldsOut } from "./leave-managed-fields-out.ts";

/** The parts of a request's bodies that may be recorded. No policy can add others. */
export type BodyRule =
  | { readonly type: "whole" }
  | { readonly type: "never" }
  /** The values of these fields are replaced. */
  | { readonly type: "redacted"; readonly fields: readonly FieldPath[] };

type FieldPath = readonly string[];
type Kind = Pick<ResourceDefinition, "group" | "version" | "kind"> & {
  readonly schema: CompiledSchema["schema"];
  readonly plural?: string;
  readonly isConfidential?: boolean;
  readonly confidentialFields?: readonly FieldPath[];
};

const whole: BodyRule = { type: "whole" };

/** Knows which of the served kinds contain secrets, and how to decode the bodies of each kind. */
export class AuditedBodies {
  readonly #rules = new Map<string, BodyRule>();
  readonly #rulesOfKinds = new Map<string, BodyRule>();
  readonly #kinds = new Map<string, Kind>();
  readonly #schemas = new Map<string, CompiledSchema>();

  constructor(resources: readonly ResourceDefinition[], reviews: readonly ReviewDefinition[]) {
    for (const kind of [...resources, ...reviews]) this.#add(kind, { group: kind.group, resource: kind.plural });
    for (const { group, plural, subresources = {} } of resources) {
      for (const [name, subresource] of Object.entries(subresources)) {
        if (subresource.type === "create") this.#addSubresource(subresource, { group, resource: `${plural}/${name}` });
      }
    }
  }

  ruleFor(info: ParsedRequestInfo | undefined): BodyRule {
    if (info === undefined || info.kind === "path") return whole;
    const { group, resource, subresource } = info;
    return this.#rules.get(`${group}/${resource}/${subresource}`) ?? this.#rules.get(`${group}/${resource}`) ?? whole;
  }

  /**
   * The rule for a sent object: by the path, and by the kinds that it names, because a client may send a Secret in place of another kind.
   */
  ruleForSent(object: unknown, rule: BodyRule): BodyRule {
    const items = jsonFields(object)["items"];
    if (Array.isArray(items) && items.some((item) => this.#ruleOf(item).type !== "whole")) return { type: "never" };
    return stricter(rule, this.#ruleOf(object));
  }

  /**
   * The object of an answer. Undefined for an answer that is not an object of the API. Throws an ApiError for a list in YAML that is too
   * long to be parsed again.
   */
  objectOf({ headers, body, value }: HttpResponse): unknown {
    if (value !== undefined) return value;
    const type = String(headers["content-type"] ?? "");
    if (!isWholeBody(body)) return undefined;
    if (type.startsWith(contentTypes.json)) return parseExactly(String(body));
    if (type.startsWith(contentTypes.yaml)) return parseExactly(yamlToJson(String(body)));
    if (!type.startsWith(contentTypes.protobuf) || !Buffer.isBuffer(body)) return undefined;
    const { apiVersion, kind, raw } = decodeEnvelope(body);
    const schema = this.#schemaOf(apiVersion, kind);
    return schema && { kind, apiVersion, ...(schema.protobuf.decode(raw) as object) }; // a message is an object
  }

  #add(kind: Kind, { group, resource }: GroupResource): void {
    const rule: BodyRule | undefined =
      kind.isConfidential === true
        ? { type: "never" }
        : kind.confidentialFields && { type: "redacted", fields: kind.confidentialFields };
    if (rule !== undefined) {
      this.#rules.set(`${group}/${resource}`, rule);
      this.#rulesOfKinds.set(kind.kind, rule);
    }
    this.#kinds.set(`${kind.group}/${kind.version}/${kind.kind}`, kind);
  }

  #ruleOf(object: unknown): BodyRule {
    let rule = whole;
    for (const [name, kind] of Object.entries(jsonFields(object))) {
      // The decoder ignores the case of `kind`, and uses the last one. Here, all of them count.
      const known =
        name.toLowerCase() === "kind" && typeof kind === "string" ? this.#rulesOfKinds.get(kind) : undefined;
      if (known !== undefined) rule = stricter(rule, known);
    }
    return rule;
  }

  #addSubresource(subresource: CreateSubresource, parent: GroupResource): void {
    const { otherVersions = [] } = subresource;
    for (const version of [subresource, ...otherVersions]) this.#add({ ...subresource, ...version }, parent);
  }

  /** Compiles the schema of a kind at its first answer in protobuf, and keeps it. */
  #schemaOf(apiVersion: string, kind: string): CompiledSchema | undefined {
    const key = `${apiVersion}/${kind}`;
    const known = this.#schemas.get(key) ?? this.#newSchema(apiVersion, kind);
    if (known !== undefined) this.#schemas.set(key, known);
    return known;
  }

  #newSchema(apiVersion: string, kind: string): CompiledSchema | undefined {
    if (apiVersion === "v1" && kind === "Status") return compiledStatus;
    if (kind === "PartialObjectMetadata") return compiledPartialMetadata;
    if (kind === "PartialObjectMetadataList") return compiledPartialMetadataList;
    const prefix = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
    const found = this.#kinds.get(`${prefix}/${kind}`);
    if (found !== undefined) return new CompiledSchema(found.schema);
    const item = this.#kinds.get(`${prefix}/${kind.replace(/List$/, "")}`);
    return item && new CompiledSchema(item.schema).list;
  }
}

function stricter(one: BodyRule, other: BodyRule): BodyRule {
  if (one.type === "whole" || other.type === "never") return other;
  if (one.type === "never" || other.type === "whole") return one;
  return { type: "redacted", fields: [...one.fields, ...other.fields] };
}

/** Replaces a secret. It is valid base64 too, for fields with bytes. */
const redacted = "REDACTED";

/** What is omitted from a body. The type of `rule` is not "never". */
interface Recording {
  readonly rule: BodyRule;
  readonly omitManagedFields: boolean;
}

/** The JSON of an object without the parts that must not be recorded. */
export function recordedText(object: unknown, { rule, omitManagedFields }: Recording): string {
  let recorded = object;
  if (rule.type === "redacted") for (const field of rule.fields) recorded = withRedacted(recorded, field);
  const json = JSON.stringify(recorded ?? null);
  return omitManagedFields ? leaveManagedFieldsOut(json) : json;
}

/** The recorded JSON of an answer, made without parsing the answer. Undefined for an answer in another format, or with secrets. */
export function sentText({ headers, body }: HttpResponse, { rule, omitManagedFields }: Recording): string | undefined {
  if (rule.type !== "whole" || !isWholeBody(body)) return undefined;
  if (!String(headers["content-type"] ?? "").startsWith(contentTypes.json)) return undefined;
  const json = String(body).trimEnd();
  // An event is one line, but the JSON of an answer with `pretty` has several.
  if (json === "" || json.includes("\n")) return undefined;
  return omitManagedFields ? leaveManagedFieldsOut(json) : json;
}

function withRedacted(value: unknown, [name, ...rest]: FieldPath): unknown {
  if (!isJsonObject(value) || name === undefined || value[name] === undefined) return value;
  return { ...value, [name]: rest.length > 0 ? withRedacted(value[name], rest) : redacted };
}
