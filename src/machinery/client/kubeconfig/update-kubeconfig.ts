import { isDeepStrictEqual } from "node:util";
import { Document, isMap, isSeq, parseDocument, visit } from "yaml";
import { jsonFields } from "../../api/json/json-object.ts";
import type { JsonObject } from "../../api/json/json-object.ts";
import { parseSource } from "./kubeconfig.ts";
import { KubeconfigError } from "./kubeconfig-error.ts";
import { formatKubeconfig, kubeconfigFields } from "./new-kubeconfig.ts";
import type { KubeconfigContents } from "./new-kubeconfig.ts";

const lists = ["clusters", "users", "contexts"] as const;
type List = (typeof lists)[number];

/** Fields that are removed: beside the fields that Signet writes, kubectl refuses or ignores them. */
const replacedFields: Readonly<Record<List, readonly string[]>> = {
  clusters: ["certificate-authority", "insecure-skip-tls-verify"],
  users: ["client-certificate", "client-key"],
  contexts: [],
};

/**
 * Puts server, CA and credentials into the text of a kubeconfig, and keeps everything else in it. Returns the same text when they are in it
 * already, and a new kubeconfig when the text is not a kubeconfig.
 */
export function updateKubeconfig(yaml: string, contents: KubeconfigContents): string {
  if (!isKubeconfig(yaml)) return formatKubeconfig(contents);
  const document = documentOf(yaml);
  const before: unknown = document.toJS();
  const wanted = kubeconfigFields(contents);
  for (const list of ["clusters", "users"] as const) {
    for (const entry of wanted[list]) putEntry(document, { list, entry });
  }
  for (const entry of wanted.contexts) {
    if (!hasContextFor(document, entry)) addEntry(document, { list: "contexts", entry });
  }
  if (!document.has("current-context")) document.set("current-context", wanted["current-context"]);
  return isDeepStrictEqual(document.toJS(), before) ? yaml : document.toString({ lineWidth: 0 });
}

/** The document of a kubeconfig. Aliases are replaced by copies, so that setting a field changes only one place. */
function documentOf(yaml: string): Document {
  const document = parseDocument(yaml, { logLevel: "error" });
  let hasAliases = false;
  visit(document, {
    Alias() {
      hasAliases = true;
      return visit.BREAK;
    },
  });
  return hasAliases ? new Document(parseSource(yaml, "").fields, { aliasDuplicateObjects: false }) : document;
}

/** Whether a text is a kubeconfig. Every program that writes a kubeconfig writes its `kind`. */
function isKubeconfig(yaml: string): boolean {
  try {
    const { fields } = parseSource(yaml, "");
    return fields["kind"] === "Config" && lists.every((list) => Array.isArray(fields[list] ?? []));
  } catch (error) {
    if (error instanceof KubeconfigError) return false;
    throw error;
  }
}

interface Place {
  readonly list: List;
  readonly entry: JsonObject;
}

/** Sets fields of an entry of a list, and keeps the entry's other fields. */
function putEntry(document: Document, { list, entry }: Place): void {
  const at = entriesOf(document, list).findIndex(({ name }) => name === entry["name"]);
  if (at === -1) {
    addEntry(document, { list, entry });
    return;
  }
  const path = [list, at, list.slice(0, -1)];
  const fields = jsonFields(entry[list.slice(0, -1)]);
  if (!isMap(document.getIn(path))) {
    document.setIn(path, document.createNode(fields));
    return;
  }
  for (const [field, value] of Object.entries(fields)) document.setIn([...path, field], value);
  for (const field of replacedFields[list]) document.deleteIn([...path, field]);
}

function addEntry(document: Document, { list, entry }: Place): void {
  // Kubectl writes null for an empty list.
  if (!isSeq(document.get(list))) document.set(list, document.createNode([]));
  document.addIn([list], document.createNode(entry));
}

/** Whether a context has this name or this cluster: users may rename the context, or change its cluster. */
const hasContextFor = (document: Document, { name, context }: JsonObject): boolean =>
  entriesOf(document, "contexts").some(
    (one) => one["name"] === name || jsonFields(one["context"])["cluster"] === jsonFields(context)["cluster"],
  );

function entriesOf(document: Document, list: List): readonly Readonly<JsonObject>[] {
  const entries = jsonFields(document.toJS())[list];
  return Array.isArray(entries) ? entries.map(jsonFields) : [];
}
