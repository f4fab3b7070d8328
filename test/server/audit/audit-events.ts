import { readFileSync } from "node:fs";

type AuditedObject = Readonly<Record<string, unknown>> & {
  readonly metadata?: { readonly name?: string; readonly uid?: string; readonly managedFields?: unknown };
  readonly spec?: { readonly token?: string };
  readonly status?: { readonly token?: string };
};

interface AuditedUser {
  readonly username?: string;
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

/** The tested parts of an event of audit.k8s.io/v1. */
export interface AuditEvent {
  readonly kind: string;
  readonly level: string;
  readonly auditID: string;
  readonly stage: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: AuditedUser;
  readonly impersonatedUser?: AuditedUser;
  readonly authenticationMetadata?: { readonly impersonationConstraint: string };
  readonly sourceIPs: readonly string[];
  readonly objectRef?: {
    readonly name?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: { readonly code: number; readonly reason?: string; readonly message?: string };
  readonly requestObject?: AuditedObject;
  readonly responseObject?: AuditedObject;
  readonly requestReceivedTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The wanted events of a file, once so many are written. */
export async function auditEvents(
  path: string,
  isWanted: (event: AuditEvent) => boolean,
  count = 1,
): Promise<AuditEvent[]> {
  for (;;) {
    const lines = readFileSync(path, "utf8").split("\n");
    // A line may be half there while it is written.
    lines.pop();
    const events = lines.map((line) => JSON.parse(line) as AuditEvent).filter(isWanted); // written by the server
    if (events.length >= count) return events;
    await new Promise(setImmediate);
  }
}

/** The kinds of objects: `object` for a patch, and `-` for none. */
export const kindsOf = (...objects: readonly (AuditedObject | undefined)[]): string[] =>
  objects.map((object) => (object === undefined ? "-" : String(object["kind"] ?? "object")));
