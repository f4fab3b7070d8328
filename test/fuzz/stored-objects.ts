import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { yamlToJson } from "../../src/machinery/http/yaml/yaml-to-json.ts";
import { Administrator } from "./administrator.ts";
import { faultOf } from "./oracle.ts";
import type { ServedKinds, StoredKind } from "./served-kinds.ts";
import type { FuzzTarget } from "./targets/fuzz-target.ts";

interface Stored {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly finalizers?: unknown;
  };
}

interface Collection {
  readonly kind: StoredKind;
  readonly items: readonly Stored[];
  readonly raw: Buffer;
}

/** Checks and removes the objects that inputs have stored. */
export class StoredObjects {
  readonly #administrator: Administrator;
  readonly #target: FuzzTarget;
  readonly #kinds: ServedKinds;
  /** By uid: what the server had before the first input. */
  readonly #own = new Set<string>();

  constructor(target: FuzzTarget, kinds: ServedKinds) {
    this.#administrator = new Administrator(target);
    this.#target = target;
    this.#kinds = kinds;
  }

  /** Called before the first input: what is stored now is never removed. */
  async remember(): Promise<void> {
    for await (const { items } of this.#collections()) for (const { metadata } of items) this.#own.add(metadata.uid);
  }

  /**
   * What a reader finds wrong with what is stored: lists have to be strict JSON, the same in YAML, and whole in protobuf;
   * each object can be sent back unchanged.
   */
  async faults(): Promise<string[]> {
    const faults: string[] = [];
    for await (const { kind, items, raw } of this.#collections()) {
      const path = `${kind.root}/${kind.plural}`;
      for (const accept of ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]) {
        const request = {
          protocol: "http/1.1",
          method: "GET",
          target: path,
          headers: [],
          body: Buffer.alloc(0),
          framing: "length",
        } as const;
        const answer = await this.#administrator.send("GET", path, { accept });
        const fault = faultOf(request, answer) ?? (answer.status === 200 ? undefined : `status ${answer.status}`);
        if (fault !== undefined) faults.push(`the stored list of ${kind.kind} as ${accept}: ${fault}`);
      }
      // Other clients write at the same time (loops, leases), so only a kind that stayed the same is compared.
      const yaml = await this.#administrator.send("GET", path, { accept: "application/yaml" });
      const again = await this.#administrator.send("GET", path);
      if (again.body.equals(raw) && !isSameInYaml(yaml.body.toString(), JSON.parse(raw.toString()))) {
        faults.push(`the stored list of ${kind.kind} says something else in YAML than in JSON`);
      }
      for (const item of items.filter(({ metadata }) => !this.#own.has(metadata.uid))) {
        const fault = await this.#sendBackFault(kind, item);
        if (fault !== undefined) faults.push(`a stored ${kind.kind} sent back unchanged: ${fault}`);
      }
    }
    return faults;
  }

  /** Whether the server accepts an object that a reader sends back unchanged. Conflicts and running deletions are no fault. */
  async #sendBackFault(kind: StoredKind, item: Stored): Promise<string | undefined> {
    const body = { ...item, apiVersion: kind.apiVersion, kind: kind.kind };
    const { status, body: answer } = await this.#administrator.send("PUT", `${pathOf(kind, item)}?dryRun=All`, {
      body,
    });
    if (status === 200 || status === 404 || status === 409) return undefined;
    const { message } = JSON.parse(answer.toString()) as { readonly message?: string };
    if (kind.kind === "Node" && refusedInChangesAlone.test(message ?? "")) return undefined;
    return `${status} ${message?.slice(0, 300)}`;
  }

  /** Removes everything that inputs have made, so that a long run keeps its size. */
  async removeMade(): Promise<void> {
    for await (const { kind, items } of this.#collections()) {
      for (const item of items) {
        if (this.#own.has(item.metadata.uid)) continue;
        const path = pathOf(kind, item);
        if (item.metadata.finalizers !== undefined) {
          const contentType = "application/merge-patch+json";
          await this.#administrator.send("PATCH", path, { body: { metadata: { finalizers: null } }, contentType });
        }
        await this.#administrator.send("DELETE", path, {
          body: { gracePeriodSeconds: 0, propagationPolicy: "Background" },
        });
      }
    }
  }

  /** Every other stored kind before namespaces, which end when the objects in them have ended. */
  async *#collections(): AsyncGenerator<Collection> {
    for (const kind of this.#kinds.stored) {
      if (this.#target.endReason() !== undefined) return;
      const { body } = await this.#administrator.send("GET", `${kind.root}/${kind.plural}`);
      try {
        const { items } = JSON.parse(body.toString()) as { readonly items?: readonly Stored[] };
        yield { kind, items: items ?? [], raw: body };
      } catch {
        yield { kind, items: [], raw: body };
      }
    }
  }
}

/** What upstream too takes in the status of a Node, or in a new one, and refuses in the next change of the Node itself. */
const refusedInChangesAlone = /(?:status\.addresses\[\d+\]: Duplicate value|metadata\.generateName: Invalid value): /;

const pathOf = ({ root, plural }: StoredKind, { metadata: { namespace, name } }: Stored): string =>
  `${root}/${namespace === undefined ? "" : `namespaces/${namespace}/`}${plural}/${encodeURIComponent(name.toWellFormed())}`;

/** Texts such as `1e999` are written plain, as upstream does: Go reads them as texts, and the library as an infinite number. */
const isSameInYaml = (yaml: string, value: unknown): boolean =>
  isDeepStrictEqual(parse(yaml), value) ||
  (/[\d.][eE]\+?\d/.test(yaml) && isDeepStrictEqual(JSON.parse(yamlToJson(yaml)), value));
