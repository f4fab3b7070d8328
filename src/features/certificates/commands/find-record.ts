import { commandRefused } from "../../../machinery/command-line/command-failure.ts";
import type { ServerConnection } from "../../../machinery/command-line/connection/connection.ts";
import { listAll } from "../../../machinery/command-line/connection/list-all.ts";
import type { IssuedCertificate } from "../inventory/issued-certificates.ts";
import { issuedCertificateResource } from "../resources.ts";

/** Finds a record by its name or its serial number. Throws CommandFailure when there is none, or several CAs have used the number. */
export async function findRecord({ client, names }: ServerConnection, name: string): Promise<IssuedCertificate> {
  const records = client.resource(issuedCertificateResource(names));
  const named = await records.find(name);
  if (named !== undefined) return named;
  const serial = name
    .toLowerCase()
    .replaceAll(":", "")
    .replace(/^0+(?=.)/, "");
  const [record, ...others] = (await listAll(records)).items.filter(({ spec }) => spec.serialNumber === serial);
  if (record !== undefined && others.length === 0) return record;
  const fault =
    record === undefined
      ? `there is no record of a certificate ${JSON.stringify(name)}: signet certificates list shows all`
      : `several certificates have the serial number ${JSON.stringify(name)}: give the name of the record`;
  throw commandRefused(fault);
}
