import type { NamedResourceType } from "../../machinery/api/resource-type.ts";
import type { Controller } from "../../machinery/loops/controller.ts";
import { hourlyCleaner } from "../../machinery/loops/hourly-cleaner.ts";
import { revocationResource } from "./resources.ts";

/** The time that revocations are kept longer, because clocks differ, and a token is accepted for a short time after its expiry. */
const marginMilliseconds = 3_600_000;

/**
 * Deletes revocations of credentials that no longer exist, because they have expired or their service account was deleted. `accounts`: the
 * service accounts.
 */
export const revocationCleaner = (accounts: NamedResourceType): Controller =>
  hourlyCleaner({
    name: "revocation-cleaner",
    resource: revocationResource,
    what: "revocations of credentials that no longer exist",
    isDue({ clock, informers, names }) {
      const serviceAccounts = informers.of(accounts(names));
      return ({ metadata, spec }) => {
        const now = clock.now() - marginMilliseconds;
        if (spec.expirationTimestamp !== undefined) return Date.parse(spec.expirationTimestamp) < now;
        const account = spec.token?.serviceAccount;
        // Without a time, the revocation is for future tokens too, also of an account that is created again.
        if (account === undefined || spec.token?.issuedBefore === undefined) return false;
        const isOld = Date.parse(metadata.creationTimestamp ?? "") < now;
        return isOld && serviceAccounts.get(`${account.namespace}/${account.name}`) === undefined;
      };
    },
  });
