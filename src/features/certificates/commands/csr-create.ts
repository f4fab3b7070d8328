import { Command } from "commander";
import type { KeyObject } from "node:crypto";
import { apiserverClient } from "../signers/apiserver-client.ts";
import { parseDuration } from "../../../machinery/api/duration.ts";
import { readPrivateFile } from "../../../machinery/files/private-file.ts";
import { createCertificateRequestPem } from "../../../pki/create-certificate-request.ts";
import { parseIpAddress } from "../../../pki/ip-address.ts";
import { encodePrivateKeyPem, generatePrivateKey, parsePrivateKeyPem } from "../../../pki/keys.ts";
import type { KeyType } from "../../../pki/keys.ts";
import { connect, withConnectionFlags } from "../../../machinery/command-line/connection.ts";
import type { ConnectionFlags } from "../../../machinery/command-line/connection.ts";
import { UsageError } from "../../../machinery/command-line/flag.ts";
import { print, withOutputFlag } from "../../../machinery/command-line/output.ts";
import type { OutputFormat } from "../../../machinery/command-line/output.ts";
import {
  checkOutputFile,
  outputFile,
  writePrivateOutput,
  writePublicOutput,
} from "../../../machinery/command-line/output-file.ts";
import { certificateSigningRequestResource } from "../resources.ts";

interface CreateFlags extends ConnectionFlags {
  readonly output: OutputFormat;
  readonly signer?: string;
  readonly keyFile: string;
  readonly keyType: string;
  readonly commonName?: string;
  readonly organization: readonly string[];
  readonly dns: readonly string[];
  readonly ip: readonly string[];
  readonly email: readonly string[];
  readonly uri: readonly string[];
  readonly usage: readonly string[];
  readonly duration?: string;
  readonly requestFile?: string;
}

const keyTypes: Readonly<Record<string, KeyType>> = {
  "ecdsa-p256": "ECDSA P-256",
  "ecdsa-p384": "ECDSA P-384",
  "rsa-2048": "RSA 2048",
  "rsa-4096": "RSA 4096",
  ed25519: "Ed25519",
};

const collect = (value: string, previous: readonly string[]): readonly string[] => [...previous, value];

export const createRequest = (): Command =>
  withOutputFlag(withConnectionFlags(new Command("create")))
    .description("create a private key and a certificate request")
    .argument("<name>", "the request's name")
    .requiredOption("--key-file <file>", "the private key; generated when the file does not exist (0600)")
    .option("--key-type <type>", `type of a new key: ${Object.keys(keyTypes).join(", ")}`, "ecdsa-p256")
    .option("--signer <name>", "the signer; default: the signer for API clients")
    .option("--common-name <name>", "the subject's common name; default: the request's name")
    .option("--organization <name>", "the subject's organization; may be repeated", collect, [])
    .option("--dns <name>", "a DNS name; may be repeated", collect, [])
    .option("--ip <address>", "an IP address; may be repeated", collect, [])
    .option("--email <address>", "an e-mail address; may be repeated", collect, [])
    .option("--uri <uri>", "a URI; may be repeated", collect, [])
    .option(
      "--usage <usage>",
      "default: digital signature, and client auth or, with --dns or --ip, server auth",
      collect,
      [],
    )
    .option("--duration <duration>", "the requested lifetime, such as 24h; default: the maximum of the signer")
    .option("--request-file <file>", "also write the PKCS #10 request (PEM)")
    .action(async (name: string, flags: CreateFlags) => {
      const { commonName = name, organization, dns, ip, email, uri, requestFile } = flags;
      const wrong = ip.find((address) => parseIpAddress(address) === undefined);
      if (wrong !== undefined) throw new UsageError(`--ip: ${JSON.stringify(wrong)} is not an IP address`);
      const expirationSeconds = secondsOf(flags.duration);
      const request = outputFile("request-file", requestFile);
      const connection = await connect(flags);
      const { client, names } = connection;
      const pem = createCertificateRequestPem({
        privateKey: openKey(flags),
        subject: { commonName, organizations: organization },
        subjectAltNames: { dnsNames: dns, ipAddresses: ip, emailAddresses: email, uris: uri },
      });
      if (request !== undefined) writePublicOutput(request, pem);
      const created = await client.resource(certificateSigningRequestResource(names)).create({
        apiVersion: `${names.group("certificates")}/v1`,
        kind: "CertificateSigningRequest",
        metadata: { name },
        spec: {
          request: Buffer.from(pem, "utf8").toString("base64"),
          signerName: flags.signer ?? apiserverClient.nameIn(names),
          usages: usagesOf(flags),
          ...(expirationSeconds !== undefined && { expirationSeconds }),
        },
        status: {},
      });
      print(created, flags.output, () => `certificate request ${name} created`);
      client.close();
    });

function usagesOf({ usage, dns, ip }: CreateFlags): string[] {
  if (usage.length > 0) return [...usage];
  return ["digital signature", dns.length + ip.length > 0 ? "server auth" : "client auth"];
}

function secondsOf(duration: string | undefined): number | undefined {
  if (duration === undefined) return undefined;
  const milliseconds = parseDuration(duration);
  if (milliseconds === undefined)
    throw new UsageError(`--duration: ${JSON.stringify(duration)} is not a duration such as 90m or 24h`);
  return Math.round(milliseconds / 1000);
}

/** The key of the file, or a new key that is written to the file before the request is sent. */
function openKey({ keyFile, keyType }: CreateFlags): KeyObject {
  const output = { flag: "key-file", file: keyFile };
  const kept = readPrivateFile(keyFile);
  if (kept !== undefined) {
    try {
      return parsePrivateKeyPem(kept);
    } catch (cause) {
      throw new UsageError(`--key-file: ${keyFile} contains no PEM private key; name another file`, { cause });
    }
  }
  const type = Object.hasOwn(keyTypes, keyType) ? keyTypes[keyType] : undefined;
  if (type === undefined)
    throw new UsageError(`--key-type: ${JSON.stringify(keyType)} is not one of ${Object.keys(keyTypes).join(", ")}`);
  checkOutputFile(output);
  const key = generatePrivateKey(type);
  writePrivateOutput(output, encodePrivateKeyPem(key));
  return key;
}
