import { isHttpsUrl } from "../../machinery/api/addresses/is-https-url.ts";
import { withoutUrlPasswords } from "../../machinery/api/addresses/without-url-passwords.ts";
import { UsageError } from "../../machinery/command-line/settings/flag.ts";
import { socketPathFault } from "../../machinery/grpc/connect-socket.ts";
import { isPkcs11Uri } from "../../machinery/pkcs11/pkcs11-uri.ts";
import type { Flags, FlagValues } from "../../machinery/command-line/settings/flag.ts";

export const accountFlags = {
  "service-account-issuer": {
    type: "strings",
    help: "Issuer of tokens. New tokens get the first one, all are accepted. Default: https://<name>.default.svc.",
  },
  "api-audiences": { type: "strings", help: "Audiences of the API server. Default: the issuers." },
  "service-account-signing-key-file": {
    type: "file",
    isFollowed: true,
    help:
      "PEM private key that signs tokens (EC, RSA or Ed25519), or the pkcs11: URI of a key in a token. Default: a " +
      "generated key.",
  },
  "service-account-signing-endpoint": {
    type: "string",
    help:
      "Unix socket of an external signer (k8s.io/externaljwt), which signs the tokens and publishes their keys. " +
      "Without --service-account-signing-key-file, --service-account-key-file and --service-account-signing-algorithm.",
  },
  "service-account-signing-algorithm": {
    type: "string",
    choices: ["ES256", "RS256"],
    help:
      "Algorithm of the first key that is made to sign tokens, for relying parties that insist on RS256. A change signs " +
      "with such a key at the next start; signet keys rotate publishes it first. Default: ES256.",
  },
  "service-account-key-file": {
    type: "strings",
    isFollowed: true,
    help: "PEM files of keys that verify tokens, in addition to the signing key. May be repeated.",
  },
  "service-account-max-token-expiration": {
    type: "duration",
    help: "The maximum lifetime of an issued token. Longer requests are shortened, with a warning.",
  },
  "service-account-extend-token-expiration": {
    type: "boolean",
    default: true,
    help: "Extend Pod tokens of 3607 s for the API audiences to one year, with a warnafter claim.",
  },
  "service-account-jwks-uri": {
    type: "string",
    help:
      "Where relying parties find the keys (jwks_uri of the discovery document): an https URL. Default: this server's " +
      "address and /openid/v1/jwks.",
  },
  "service-account-public-discovery": {
    type: "boolean",
    default: false,
    help: "Serve the issuer's discovery documents without authentication.",
  },
} as const satisfies Flags;

export interface AccountSettings {
  /** The directory for a generated key. */
  readonly dataDirectory: string;
  /** New tokens get the first issuer, and all of them are accepted. Empty: the default of the naming profile. */
  readonly issuers: readonly string[];
  /** Empty: the issuers. */
  readonly apiAudiences: readonly string[];
  /**
   * How tokens are signed: with the key of a file, with a key in a PKCS #11 token (its URI), by an external signer that listens on a
   * socket, or with a generated key.
   */
  readonly signingKey:
    | { readonly file: string }
    | { readonly inToken: string }
    | { readonly externalSigner: string }
    | { readonly algorithm: "ES256" | "RS256" };
  readonly verificationKeyFiles: readonly string[];
  readonly maximumTokenExpirationSeconds: number | undefined;
  readonly isTokenExpirationExtended: boolean;
  /** Where relying parties find the keys. Undefined: at this server. */
  readonly keysUrl: string | undefined;
  /** Whether the issuer's documents can be read without authentication. */
  readonly isDiscoveryPublic: boolean;
}

/** Reads the settings of this feature. Throws UsageError for settings that can't be used. */
export function accountSettings(values: FlagValues<typeof accountFlags>, dataDirectory: string): AccountSettings {
  const maximumMilliseconds = values["service-account-max-token-expiration"];
  return {
    dataDirectory,
    issuers: values["service-account-issuer"],
    apiAudiences: values["api-audiences"],
    signingKey: signingKeyOf(values),
    verificationKeyFiles: values["service-account-key-file"],
    maximumTokenExpirationSeconds:
      maximumMilliseconds === undefined ? undefined : Math.floor(maximumMilliseconds / 1000),
    isTokenExpirationExtended: values["service-account-extend-token-expiration"],
    keysUrl: publishedUrl(values["service-account-jwks-uri"]),
    isDiscoveryPublic: values["service-account-public-discovery"],
  };
}

function signingKeyOf(values: FlagValues<typeof accountFlags>): AccountSettings["signingKey"] {
  const file = values["service-account-signing-key-file"];
  const algorithm = values["service-account-signing-algorithm"];
  const endpoint = values["service-account-signing-endpoint"];
  if (endpoint !== undefined) {
    const others = ["service-account-signing-key-file", "service-account-signing-algorithm"] as const;
    const given = others.find((flag) => values[flag] !== undefined);
    if (given !== undefined || values["service-account-key-file"].length > 0) {
      throw new UsageError(
        `--service-account-signing-endpoint: the external signer has all keys: leave out --${given ?? "service-account-key-file"}`,
      );
    }
    return { externalSigner: socketPath(endpoint) };
  }
  if (file === undefined) return { algorithm: algorithm ?? "ES256" };
  if (algorithm === undefined) return isPkcs11Uri(file) ? { inToken: file } : { file };
  throw new UsageError(
    "--service-account-signing-algorithm is for a key that is made; the key of --service-account-signing-key-file says " +
      "itself what it signs with: leave out one of the two",
  );
}

/** Upstream's flag takes a path. The scheme `unix:` is accepted too, because other settings have it. */
function socketPath(endpoint: string): string {
  const path = endpoint.replace(/^unix:(?:\/\/)?/, "");
  const flag = "--service-account-signing-endpoint";
  if (!path.startsWith("/")) {
    throw new UsageError(`${flag}: ${JSON.stringify(endpoint)} is not the absolute path of a socket`);
  }
  const fault = socketPathFault(path);
  if (fault !== undefined) throw new UsageError(`${flag}: ${fault}`);
  return path;
}

/** Checks the URL for keys, which everybody can read in the discovery document. Throws UsageError. */
function publishedUrl(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const shown = `--service-account-jwks-uri: ${JSON.stringify(withoutUrlPasswords(text))}`;
  if (!isHttpsUrl(text)) throw new UsageError(`${shown} is not an https URL`);
  const { username, password } = new URL(text);
  if (username === "" && password === "") return text;
  throw new UsageError(`${shown} has a user or a password in it, which would be published; remove them`);
}
