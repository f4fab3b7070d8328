import { timestamp } from "../machinery/api/clock.ts";
import { counted } from "../machinery/command-line/output/counted.ts";
import { printable } from "../machinery/command-line/output/printable.ts";
import { terminalWidth, textTable } from "../machinery/command-line/output/text-table.ts";
import type { AgentStatus } from "./agent-status.ts";
import { approvalAdvice } from "./certificates/approval-advice.ts";

/** The output of `signet agent status`: a table of the certificates, and a line for each fault or notice. */
export const statusText = (status: AgentStatus): string =>
  [
    `node ${printable(status.nodeName)}`,
    textTable(
      status.certificates.map((certificate) => certificateRow(certificate, status.now)),
      { header: ["CERTIFICATE", "STATE", "EXPIRES", "RENEWED AT"], width: terminalWidth() },
    ),
    ...[...notes(status)].map(printable),
  ].join("\n");

type CertificateStatus = AgentStatus["certificates"][number];

const certificateRow = ({ name, state, notAfter, renewAt }: CertificateStatus, now: number): string[] => [
  name,
  notAfter !== undefined && now > notAfter ? "expired" : state,
  timeCell(notAfter),
  timeCell(renewAt),
];

const timeCell = (milliseconds: number | undefined): string =>
  milliseconds === undefined ? "-" : timestamp(milliseconds);

function* notes(status: AgentStatus): Generator<string> {
  const { certificates, trustBundles, outages, hookFaults, hasPendingHooks } = status;
  for (const certificate of certificates) yield* certificateNotes(certificate);
  for (const { file, anchors, fault } of trustBundles) {
    yield `${file}: ${fault ?? anchorsText(anchors)}`;
  }
  yield* outages;
  if (outages.length === 0 && certificates.some(({ name, state }) => name === "client" && state === "unknown")) {
    yield "no server has answered yet";
  }
  yield* hookFaults;
  if (hasPendingHooks && hookFaults.length === 0) yield "a hook runs";
}

function anchorsText(anchors: number | undefined): string {
  if (anchors === undefined) return "not known yet";
  return anchors === 0 ? "the server has no anchors for it, so it stays as it is" : counted(anchors, "anchor");
}

function* certificateNotes(certificate: CertificateStatus): Generator<string> {
  const { name, failure, fileFault, pendingRequest, signerName = "", renewalWaitMilliseconds } = certificate;
  if (pendingRequest !== undefined) {
    const advice = approvalAdvice(signerName, pendingRequest);
    yield `${name}: waits for request ${pendingRequest}; unless it is approved, ${advice}`;
  }
  if (renewalWaitMilliseconds !== undefined) yield waitText(name, renewalWaitMilliseconds);
  if (failure !== undefined) yield `${name}: ${failure}`;
  if (fileFault !== undefined) yield `${name}: ${fileFault}`;
}

const waitText = (name: string, milliseconds: number): string =>
  `${name}: was renewed on request just now, and is renewed again in ${Math.ceil(milliseconds / 1000)} s`;

/** The output of `signet agent renew NAME`, after the agent has accepted that. */
export function renewalText({ certificates }: AgentStatus, name: string): string {
  const wait = certificates.find((one) => one.name === name)?.renewalWaitMilliseconds;
  const text = wait === undefined ? `the agent renews ${name}` : waitText(name, wait);
  return `${text}; signet agent status shows the result`;
}
