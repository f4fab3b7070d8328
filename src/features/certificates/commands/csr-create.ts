import { rmSync } from "node:fs";
import { Command } from "commander";
import type { KeyObject } from "node:crypto";
import { ApiError } from "../../../machinery/api/api-error.ts";
import { readPrivateFile } from "../../../machinery/files/private-file.ts";
import { asUnusableFile } from "../../../machinery/files/unusable-file.ts";
import { createCertificateRequestPem } from "../../../pki/requests/create-certificate-request.ts";
import { parseCertificateRequestPem } from "../../../pki/requests/certificate-request.ts";
import {
  encodePrivateKeyPem,
  generatePrivateKey,
  parsePrivateKeyPem,
  publicKeyInfoOf,
} from "../../../pki/keys/keys.ts";
import { signatureSchemeOf } from "../../../pki/keys/sign.ts";
import type { KeyType } from "../../../pki/keys/keys.ts";
import { commandRefused } from "../../../machinery/command-line/command-failure.ts";
import { withServer } from "../../../machinery/command-line/connection/connection.ts";
import { UsageError } from "../../../machinery/command-line/settings/flag.ts";
import { withExamples } from "../../../machinery/command-line/examples.ts";
import {
  certificateNamesOf,
  withCertificateNameFlags,
} from "../../../machinery/command-line/certificate-name-options.ts";
import type {
  CertificateNameFlags,
  CertificateNames,
} from "../../../machinery/command-line/certificate-name-options.ts";
import { keyTypeOption } from "../../../machinery/command-line/options.ts";
import {
  checkOutputFile,
  outputFile,
  writeNewKeyOutput,
  writePrivateOutput,
  writePublicOutput,
} from "../../../machinery/command-line/output/output-file.ts";
import type { CertificateSigningRequest } from "../resources.ts";
import { requestToSend, showSent, withSendFlags } from "./request-to-send.ts";
import type { SendFlags } from "./request-to-send.ts";
import { requestsOf } from "./requests-of.ts";

interface CreateFlags extends SendFlags, CertificateNameFlags {
  readonly keyFile: string;
  readonly keyType: KeyType;
  readonly requestFile?: string;
}

export const createCertificateRequest = (): Command =>
  withExamples(
    withSendFlags(
      withCertificateNameFlags(
        new Command("create")
          .description("create a private key and a certificate request")
          .argument("<name>", "the request's name")
          .requiredOption("--key-file <file>", "the private key; generated when the file does not exist (0600)")
          .addOption(keyTypeOption()),
        "the request's name",
      ).option("--request-file <file>", "also write the PKCS #10 request (PEM)"),
    ).action((name: string, flags: CreateFlags) => createRequest(name, flags)),
    [
      "A client certificate for the API server, for 12 hours",
      "signet csr create ann --key-file ann.key --duration 12h",
    ],
    [
      "A serving certificate",
      "signet csr create web --key-file web.key --signer example.com/services --dns web.example.com",
    ],
  );

async function createRequest(name: string, flags: CreateFlags): Promise<void> {
  // Check the flags before a key is made or a request is sent.
  const { usages, ...named } = certificateNamesOf(flags, name);
  const requestFile = outputFile("--request-file", flags.requestFile);
  await withServer(flags, async (connection) => {
    const key = openKey(flags);
    const pem = requestPem(key.privateKey, named);
    if (requestFile !== undefined) writePublicOutput(requestFile, pem);
    const requests = requestsOf(connection);
    const sent = requests.create(requestToSend(connection, { ...flags, name, pem, usages }));
    const created = await sent.catch(async (error: unknown) => {
      if (!isRefusal(error)) throw error;
      const isSent = error.code === 409 && (await requests.get(name).then(isFor(key.privateKey), () => undefined));
      // An earlier run that was interrupted has sent it, or the same command at the same moment.
      if (isSent === true) {
        throw commandRefused(
          `the request ${name} exists already, for the key of ${flags.keyFile}; wait for its certificate: signet csr get ${name} --wait`,
        );
      }
      if (key.isNew && isSent === false) {
        rmSync(flags.keyFile, { force: true });
        if (requestFile !== undefined) rmSync(requestFile.file, { force: true }); // of a key that is gone
      }
      throw error;
    });
    await showSent(connection, { created, flags });
  });
}

const requestPem = (
  privateKey: KeyObject,
  { commonName, organizations, subjectAltNames }: Omit<CertificateNames, "usages">,
): string => createCertificateRequestPem({ privateKey, subject: { commonName, organizations }, subjectAltNames });

/** Whether the server surely stored nothing. After any other failure the request may exist, and its key is needed. */
const isRefusal = (error: unknown): error is ApiError => error instanceof ApiError && error.code < 500;

function isFor(privateKey: KeyObject): (request: CertificateSigningRequest) => boolean {
  const { spki } = publicKeyInfoOf(privateKey);
  return ({ spec }) =>
    parseCertificateRequestPem(Buffer.from(spec.request ?? "", "base64")).publicKey.spki.equals(spki);
}

interface RequestKey {
  readonly privateKey: KeyObject;
  /** Whether the key was generated just now, and written to its file. */
  readonly isNew: boolean;
}

/**
 * The key of the file, or a new key that is written to the file before the request is sent. If the file appears meanwhile, the same command
 * runs at the same moment, and its key is used.
 */
function openKey({ keyFile, keyType }: CreateFlags): RequestKey {
  const output = { namedBy: "--key-file", file: keyFile };
  const kept = readKey(keyFile);
  if (kept !== undefined) return { privateKey: kept, isNew: false };
  checkOutputFile(output);
  const privateKey = generatePrivateKey(keyType);
  const pem = encodePrivateKeyPem(privateKey);
  if (writeNewKeyOutput(output, pem)) return { privateKey, isNew: true };
  const found = readKey(keyFile);
  if (found !== undefined) return { privateKey: found, isNew: false };
  writePrivateOutput(output, pem); // the name is a dangling symbolic link
  return { privateKey, isNew: true };
}

function readKey(keyFile: string): KeyObject | undefined {
  const pem = textOf(keyFile);
  if (pem === undefined) return undefined;
  const key = parseKey(pem, keyFile);
  try {
    signatureSchemeOf(key);
  } catch (cause) {
    const advice = "name one with an RSA, P-256, P-384, P-521 or Ed25519 key";
    throw new UsageError(`--key-file: ${keyFile} holds a key of a type that signs no requests; ${advice}`, { cause });
  }
  return key;
}

function textOf(keyFile: string): string | undefined {
  try {
    return readPrivateFile(keyFile);
  } catch (error) {
    throw asUnusableFile(`--key-file: cannot read ${keyFile}`, error);
  }
}

function parseKey(pem: string, keyFile: string): KeyObject {
  try {
    return parsePrivateKeyPem(pem);
  } catch (cause) {
    const advice = "name a PEM file with a key without a passphrase";
    throw new UsageError(`--key-file: ${keyFile} holds no private key that can be read; ${advice}`, { cause });
  }
}
