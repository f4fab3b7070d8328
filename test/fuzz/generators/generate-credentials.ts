import { X509Certificate } from "node:crypto";
import type { Header } from "../fuzz-request.ts";
import { hostileText } from "../mutations/hostile-text.ts";
import { signedAgain } from "../mutations/mutate-pem.ts";
import { generateText, generateToken } from "./generate-text.ts";
import { inPercent } from "./generator-context.ts";
import type { GeneratorContext } from "./generator-context.ts";

/** Headers that say who asks: mostly the administrator, so that inputs get far. */
export function generateCredentials(context: GeneratorContext): Header[] {
  const { random, vocabulary } = context;
  const turn = random.next();
  if (turn < 0.02) return [];
  if (turn < 0.03)
    return [
      ["authorization", `${random.pick(["Basic", "bearer", "Bearer ", "Digest", ""])} ${generateToken(context)}`],
    ];
  if (turn < 0.1) return [["authorization", `Bearer ${generateToken(context)}`]];
  const administrator: Header = ["authorization", `Bearer ${vocabulary.adminToken}`];
  return turn < 0.15 ? [administrator, ...impersonationHeaders(context)] : [administrator];
}

const identityHeaders = [
  "impersonate-user",
  "impersonate-group",
  "impersonate-uid",
  "impersonate-extra-scopes",
  "impersonate-extra-%41%2f",
  "Impersonate_User",
  "x-remote-user",
  "x-remote-group",
  "x-remote-extra-a",
  "x_remote_user",
] as const;

function impersonationHeaders(context: GeneratorContext): Header[] {
  const { random } = context;
  const headers: Header[] = inPercent(random, 70)
    ? [["impersonate-user", headerText(generateText("user", context))]]
    : [];
  while (inPercent(random, 60)) {
    const value = inPercent(random, 60) ? generateText("groups", context) : hostileText(random);
    headers.push([random.pick([...identityHeaders]), headerText(value)]);
  }
  if (inPercent(random, 10)) headers.push(["connection", "impersonate-user, authorization"]);
  return headers;
}

/** Header values go as octets: letters beyond them as UTF-8. */
export const headerText = (text: string): string => Buffer.from(text.toWellFormed().slice(0, 8_000)).toString("latin1");

/**
 * A certificate of the CA that the server trusts, unchanged or changed and signed again. Undefined: Node.js cannot
 * parse it.
 */
export function generateCertificate({
  random,
  clientCertificate,
  authorityKey,
}: GeneratorContext): X509Certificate | undefined {
  try {
    return new X509Certificate(
      inPercent(random, 20) ? clientCertificate : signedAgain(clientCertificate, { random, key: authorityKey }),
    );
  } catch {
    return undefined;
  }
}
