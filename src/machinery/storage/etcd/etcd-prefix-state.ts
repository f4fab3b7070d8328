/**
 * What happened to everything below a prefix of etcd at once. A prefix without a state is an ordinary one.
 *
 * - `importing`: objects are being created there, or that broke off. No server may use it.
 * - `imported`: objects came from elsewhere. Clients see etcd's revisions plus `shift`.
 * - `moved`: its objects are served from elsewhere since.
 */
export type EtcdPrefixState =
  { readonly type: "importing" } | { readonly type: "imported"; readonly shift: number } | { readonly type: "moved" };

/** A prefix of etcd that no server may use. The message says why, and what to do. */
export class UnusablePrefix extends Error {
  constructor(message: string) {
    super(message);
    this.name = "UnusablePrefix";
  }
}

export const formatPrefixState = (state: EtcdPrefixState): Buffer => Buffer.from(JSON.stringify(state));

/** Throws UnusablePrefix for a state that a later version wrote. */
export function parsePrefixState(value: Buffer): EtcdPrefixState {
  const parsed: unknown = JSON.parse(value.toString("utf8"));
  const fields = new Map<string, unknown>(typeof parsed === "object" && parsed !== null ? Object.entries(parsed) : []);
  const type = fields.get("type");
  const shift = fields.get("shift");
  if (type === "importing" || type === "moved") return { type };
  if (type === "imported" && typeof shift === "number" && Number.isSafeInteger(shift) && shift >= 0) {
    return { type, shift };
  }
  throw new UnusablePrefix(
    `etcd's prefix has the unknown state ${JSON.stringify(type)}: use a later version of Signet`,
  );
}
