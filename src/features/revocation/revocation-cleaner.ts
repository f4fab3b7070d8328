import type { NamedResourceType } from "../../machinery/api/resource-type.ts";
import { LongWork } from "../../machinery/scheduling/long-work.ts";
import { ignoreCodes } from "../../machinery/client/ignore-codes.ts";
import { controllerQueue } from "../../machinery/loops/controller.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { revocationResource } from "./resources.ts";
import type { Revocation } from "./revocations.ts";

/** How often all revocations are looked at. */
const intervalMilliseconds = 3_600_000;
/** Clocks differ, and a token is accepted for a short time after its end. */
const marginMilliseconds = 3_600_000;
const everything = "revocations";

/**
 * Deletes revocations of credentials that no longer exist: they have expired, or their service account is gone. `accounts`:
 * the service accounts.
 */
export function revocationCleaner(accounts: NamedResourceType): Controller {
  return {
    name: "revocation-cleaner",
    start(context) {
      const { client, clock, informers, names } = context;
      const revocations = informers.of(revocationResource(names));
      const serviceAccounts = informers.of(accounts(names));

      const isOver = ({ metadata, spec }: Revocation, now: number): boolean => {
        if (spec.expirationTimestamp !== undefined) return Date.parse(spec.expirationTimestamp) < now;
        const account = spec.token?.serviceAccount;
        // Without a time it is for later tokens too, also those of an account that will be made.
        if (account === undefined || spec.token?.issuedBefore === undefined) return false;
        const isOld = Date.parse(metadata.creationTimestamp ?? "") < now;
        return isOld && serviceAccounts.get(`${account.namespace}/${account.name}`) === undefined;
      };
      const queue = controllerQueue(context, {
        name: this.name,
        reconcile: async () => {
          queue.addAfter(everything, intervalMilliseconds);
          const now = clock.now() - marginMilliseconds;
          const work = new LongWork();
          let removed = 0;
          for (const revocation of revocations.list()) {
            await work.pause();
            if (!isOver(revocation, now)) continue;
            const { name = "", uid = "" } = revocation.metadata;
            await ignoreCodes([404, 409], client.resource(revocationResource(names)).delete(name, { uid }));
            removed++;
          }
          return `removed ${removed} revocations of credentials that no longer exist`;
        },
      });
      return { queue, onSynced: () => queue.add(everything) };
    },
  };
}
