import type { Logger } from "pino";
import type { Clock } from "../../../machinery/api/clock.ts";
import type { Names } from "../../../machinery/api/names.ts";
import { rateLimitedReport } from "../../../machinery/api/rate-limited-report.ts";
import type { ApiClient } from "../../../machinery/client/api-client.ts";
import { ignoring } from "../../../machinery/loops/controller.ts";
import type { Stores } from "../../../machinery/registry/stores.ts";
import { configMapResource } from "../../core/index.ts";
import { revocationResource } from "../../revocation/index.ts";
import { certificateRecord, fingerprintRecordName } from "../inventory/certificate-record.ts";
import { issuedCertificateResource } from "../resources.ts";
import { CertificateStatuses } from "./certificate-statuses.ts";
import { OcspAnswers } from "./ocsp-answers.ts";
import { OcspResponders } from "./ocsp-responders.ts";
import type { AnsweringAuthority } from "./ocsp-responders.ts";
import { PublishedLists } from "./published-lists.ts";
import { statusRoutes } from "./status-routes.ts";
import type { AnswerStatus } from "./status-routes.ts";

export interface StatusConnection {
  readonly names: Names;
  readonly clock: Clock;
  readonly log: Pick<Logger, "error">;
  readonly stores: Stores;
  /** The CAs whose keys are here. */
  readonly authorities: () => readonly AnsweringAuthority[];
  readonly client: () => ApiClient;
}

/** Serves revocation lists and OCSP. Loaded only with `--revocation-url`. Call it after the registries have started. */
export async function connectStatus({
  names,
  clock,
  log,
  stores,
  authorities,
  client,
}: StatusConnection): Promise<AnswerStatus> {
  const badList = rateLimitedReport<{ name: string; problem: unknown }>(({ name, problem }, count) =>
    log.error(
      { name, err: problem, count },
      "a stored revocation list cannot be served: delete its ConfigMap, and it is made again",
    ),
  );
  const notAnswered = rateLimitedReport<unknown>((error, count) =>
    log.error({ err: error, count }, "could not answer OCSP, clients will try later"),
  );
  const lists = new PublishedLists({
    configMaps: stores.of(configMapResource),
    namespace: names.namespaces.system,
    onBadList: (name, problem) => badList({ name, problem }),
  });
  const statuses = new CertificateStatuses({
    records: stores.of(issuedCertificateResource),
    revocations: stores.of(revocationResource),
  });
  const responders = new OcspResponders({
    clock,
    async record(certificate, signerName) {
      const recordName = fingerprintRecordName(certificate);
      const request = { metadata: {}, spec: { signerName } };
      const record = certificateRecord(names, { recordName, certificate, request });
      await ignoring([409], client().resource(issuedCertificateResource(names)).create(record));
    },
  });
  const ocsp = new OcspAnswers({ authorities, statuses, responders, clock, onFailure: notAnswered });
  await lists.ready();
  return statusRoutes({ lists, ocsp, clock });
}
