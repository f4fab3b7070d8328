import type { NamedResourceType } from "../../machinery/api/resource-type.ts";
import type { Names } from "../../machinery/api/names.ts";
import type { CertificateIdentity } from "../../machinery/authentication/presented-credential.ts";
import type { UserInfo } from "../../machinery/api/user-info.ts";
import { kind } from "../../machinery/registry/definition/kind.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { followRegistry } from "../../machinery/registry/reads/follow-registry.ts";
import type { ReviewDefinition } from "../../machinery/registry/definition/review-definition.ts";
import type { Stores } from "../../machinery/registry/stores.ts";
import { oncePerTurn } from "../../machinery/scheduling/once-per-turn.ts";
import { resourceRange } from "../../machinery/registry/stored/storage-key.ts";
import type { Certificate } from "../../pki/certificates/certificate.ts";
import { certificateReviews } from "./certificate-reviews.ts";
import { revocationCleaner } from "./revocation-cleaner.ts";
import { revocationResource } from "./resources.ts";
import { revocations } from "./revocations.ts";
import { RevokedCredentials } from "./revoked-credentials.ts";

/** Revocations, which end tokens and certificates before they expire. */
export const revocationKinds = [kind(revocations)] as const;

export interface ConnectedRevocation {
  /** Why the credential that a user has presented is refused, or undefined. Called for every request. */
  refusalOf(user: UserInfo): string | undefined;
  /** Calls `listener` once after one or more credentials have been revoked. */
  onRevoked(listener: () => void): void;
  certificateReviews(identityOf: (certificate: Certificate) => CertificateIdentity): ReviewDefinition;
}

/** Loads every stored revocation before it returns. Call it after the registries have started. */
export function connectRevocation(names: Names, stores: Stores): ConnectedRevocation {
  const registry = stores.of(revocationResource);
  const revoked = new RevokedCredentials();
  const listeners: (() => void)[] = [];
  const tell = oncePerTurn(() => {
    for (const listener of listeners) listener();
  });
  const range = resourceRange(registry.definition);
  followRegistry(registry, {
    onLoaded() {
      const objects = registry.cache.range(range).map(({ object }) => object);
      revoked.clear();
      for (const { spec } of objects) revoked.add(spec);
      if (revoked.size > 0) tell();
    },
    onEvent(event) {
      if (event.previous !== undefined) revoked.remove(event.previous.object.spec);
      if (event.type === "delete") return;
      revoked.add(event.object.object.spec);
      tell();
    },
  });
  return {
    refusalOf: (user) => revoked.refusalOf(user),
    onRevoked: (listener) => void listeners.push(listener),
    certificateReviews: (identityOf) =>
      certificateReviews(names, { isRevoked: (certificate) => revoked.revokesCertificate(identityOf(certificate)) }),
  };
}

/** The controllers of this feature. `accounts`: the service accounts, with which their tokens end. */
export const revocationControllers = (accounts: NamedResourceType): readonly Controller[] => [
  revocationCleaner(accounts),
];
