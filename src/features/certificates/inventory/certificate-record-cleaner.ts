import { LongWork } from "../../../machinery/api/long-work.ts";
import { controllerQueue, ignoring } from "../../../machinery/loops/controller.ts";
import type { Controller } from "../../../machinery/loops/controller.ts";
import { issuedCertificateResource } from "../resources.ts";

export interface CertificateRecordCleanerOptions {
  /** How long a record is kept after its certificate has expired, in milliseconds. */
  readonly retentionMilliseconds: number;
  /** How often the inventory is checked, in milliseconds. */
  readonly intervalMilliseconds: number;
}

const everything = "inventory";

/** Removes records of certificates that expired long ago. */
export function certificateRecordCleaner(options: CertificateRecordCleanerOptions): Controller {
  return {
    name: "certificate-record-cleaner",
    start(context) {
      const { client, clock, informers, names } = context;
      const records = informers.of(issuedCertificateResource(names));
      const queue = controllerQueue(this.name, context, async () => {
        queue.addAfter(everything, options.intervalMilliseconds);
        const endedBefore = clock.now() - options.retentionMilliseconds;
        const work = new LongWork();
        let removed = 0;
        for (const { metadata, spec } of records.list()) {
          await work.pause();
          if (Date.parse(spec.notAfter) >= endedBefore) continue;
          const { name = "", uid = "" } = metadata;
          await ignoring([404, 409], client.resource(issuedCertificateResource(names)).delete(name, { uid }));
          removed++;
        }
        return `removed ${removed} records of certificates that expired long ago`;
      });
      return { queue, onSynced: () => queue.add(everything) };
    },
  };
}
