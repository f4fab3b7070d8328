import type { AdmissionAttributes } from "../../../machinery/api/attributes.ts";
import type { Names } from "../../../machinery/api/names.ts";
import type { ApiObject } from "../../../machinery/api/object-meta.ts";
import type { UserInfo } from "../../../machinery/api/user-info.ts";
import { parseApiVersion } from "../../../machinery/api/resource-type.ts";
import { celValueOf } from "../../../machinery/expressions/cel-value.ts";
import type { ResourceRegistry } from "../../../machinery/registry/resource-registry.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import { extraInEachSpelling } from "../../../machinery/schema/user-info-schema.ts";
import { namespaceResource } from "../../core/index.ts";
import type { AccessChecks } from "./access-checks.ts";
import { CelAuthorizer } from "./authorizer-functions.ts";
import type { PolicyInput } from "./evaluate-policy.ts";
import type { MatchedWrite, ServedAs } from "./match-resources.ts";
import { CelRequest } from "./policy-environment.ts";

interface WrittenObjectsOptions {
  readonly names: Names;
  readonly stores: Stores;
  readonly attributes: AdmissionAttributes;
  readonly checks: AccessChecks;
}

/** One write, in the form that matchers and expressions read. Forms that they do not read are not made. */
export class WrittenObjects {
  readonly write: MatchedWrite;
  readonly checks: AccessChecks;
  readonly #options: WrittenObjectsOptions;
  readonly #registry: ResourceRegistry | undefined;
  readonly #converted = new Map<string, unknown>();
  #shownUser: UserInfo | undefined;

  constructor(options: WrittenObjectsOptions) {
    const { stores, attributes } = options;
    const { group, resource, requestedGroup, requestedVersion } = attributes;
    this.#options = options;
    this.checks = options.checks;
    this.#registry = stores.registries.find(
      ({ definition }) => definition.group === group && definition.plural === resource,
    );
    const requested = { group: requestedGroup, version: requestedVersion, resource };
    this.write = {
      attributes,
      requested,
      versions: (this.#registry?.versions ?? []).map(({ definition }) => ({
        group: definition.group,
        version: definition.version,
        resource,
      })),
      namespaceLabels: () => this.#namespaceLabels(),
    };
  }

  /** The input of a policy. `matched` is the version of the objects' form. */
  inputFor(matched: ServedAs, params: ApiObject | null): PolicyInput {
    const { user, namespace, subresource, name, operation, isDryRun, kind } = this.#options.attributes;
    const { requested } = this.write;
    const kindOf = (served: ServedAs) => ({ ...this.#groupVersionOf(served), kind });
    return {
      object: this.#inCel("object", matched),
      oldObject: this.#inCel("oldObject", matched),
      namespaceObject: this.#namespaceObject(),
      params: params === null ? null : celValueOf(params),
      request: new CelRequest({
        kind: kindOf(matched),
        resource: matched,
        subResource: subresource,
        requestKind: kindOf(requested),
        requestResource: requested,
        requestSubResource: subresource,
        name,
        namespace,
        operation,
        userInfo: (this.#shownUser ??= { ...user, extra: extraInEachSpelling(user.extra, this.#options.names) }),
        dryRun: isDryRun,
      }),
      authorizer: new CelAuthorizer(
        { user, checkAccess: this.checks.check },
        {
          group: requested.group,
          resource: requested.resource,
          subresource,
          namespace,
          name,
        },
      ),
    };
  }

  /** The group and version of the written object. An object that is created through a subresource, such as a TokenRequest, has its own. */
  #groupVersionOf(served: ServedAs): { readonly group: string; readonly version: string } {
    const { subresource, object, kind } = this.#options.attributes;
    const isOwn = subresource === "" || this.#registry?.definition.kind === kind;
    const apiVersion = isOwn ? undefined : object?.apiVersion;
    const { group, version } = (apiVersion === undefined ? undefined : parseApiVersion(apiVersion)) ?? served;
    return { group, version };
  }

  #inCel(which: "object" | "oldObject", matched: ServedAs): unknown {
    const { [which]: object, kind } = this.#options.attributes;
    if (object === undefined) return null;
    const key = `${which} ${matched.group}/${matched.version}`;
    if (this.#converted.has(key)) return this.#converted.get(key);
    const registry = this.#registry?.versions.find(
      ({ definition }) => definition.group === matched.group && definition.version === matched.version,
    );
    const isOwn = this.#registry?.definition.kind === kind;
    const served = isOwn && registry !== undefined ? registry.served.object(object) : object;
    const converted = celValueOf({ ...served, kind });
    this.#converted.set(key, converted);
    return converted;
  }

  #namespaceLabels(): Readonly<Record<string, string>> | undefined {
    const { resource, group, subresource, object, operation } = this.#options.attributes;
    const isNamespace = resource === "namespaces" && group === "";
    // A write of a subresource may leave out the labels, and must not avoid the policy in this way.
    if (isNamespace && subresource === "" && operation !== "DELETE") return object?.metadata.labels ?? {};
    return this.#namespace()?.metadata.labels ?? (this.#options.attributes.namespace === "" ? undefined : {});
  }

  #namespaceObject(): unknown {
    const { resource, group, namespace } = this.#options.attributes;
    if (namespace === "" || (resource === "namespaces" && group === "")) return null;
    if (!this.#converted.has("namespace")) {
      const { apiVersion: _apiVersion, kind: _kind, ...found } = this.#namespace() ?? { metadata: {} };
      this.#converted.set("namespace", celValueOf(found));
    }
    return this.#converted.get("namespace");
  }

  #namespace(): ApiObject | undefined {
    const { stores, attributes } = this.#options;
    if (attributes.namespace === "") return undefined;
    return stores.of(namespaceResource).peek({ namespace: "", name: attributes.namespace })?.object;
  }
}
