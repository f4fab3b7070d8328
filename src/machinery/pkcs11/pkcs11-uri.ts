/** The parts of a `pkcs11:` URI (RFC 7512), which names a key in a token. All given parts must match. */
export interface Pkcs11Uri {
  /** The label of the token, and other properties of the token. */
  readonly token: string | undefined;
  readonly serial: string | undefined;
  readonly manufacturer: string | undefined;
  readonly model: string | undefined;
  readonly slotId: number | undefined;
  /** The label and the id of the key (CKA_LABEL, CKA_ID). At least one is given. */
  readonly object: string | undefined;
  readonly id: Buffer | undefined;
  /** The absolute path of the vendor's library. */
  readonly modulePath: string;
  /** The absolute path of the file with the PIN. Undefined: the token needs none. */
  readonly pinFile: string | undefined;
}

const scheme = "pkcs11:";
const maximumUriCharacters = 4096;

/** Whether a setting names a key in a token, instead of a file. */
export const isPkcs11Uri = (text: string): boolean => text.startsWith(scheme);

/** The key that a URI names, for messages: the URI without the paths of the library and of the PIN. */
export const keyNameOfUri = (uri: string): string => uri.split("?", 1)[0] ?? "";

/** Parses a URI. Throws an Error with the reason if it is malformed or names no key. The message never quotes a PIN. */
export function parsePkcs11Uri(text: string): Pkcs11Uri {
  if (text.length > maximumUriCharacters)
    throw new Error(`a pkcs11: URI has at most ${maximumUriCharacters} characters`);
  const [path = "", query, ...rest] = text.slice(scheme.length).split("?");
  if (!isPkcs11Uri(text) || rest.length > 0) throw new Error("it is not a pkcs11: URI");
  const pathPart = attributes(path, ";");
  const queryPart = attributes(query ?? "", "&");
  const word = (name: string): string | undefined => pathPart.get(name)?.toString("utf8");
  const unknown = [
    ...[...pathPart.keys()].filter((name) => !pathAttributes.has(name)),
    ...[...queryPart.keys()].filter((name) => !queryAttributes.has(name)),
  ];
  if (queryPart.has("pin-value")) {
    throw new Error("it has a PIN (pin-value), which everyone can see who can see the settings: use pin-source=/path");
  }
  if (unknown.length > 0) throw new Error(`it has an attribute that is not known here: ${unknown.join(", ")}`);
  if ((word("type") ?? "private") !== "private") throw new Error("it must name a private key (type=private)");
  const slotId = word("slot-id");
  if (slotId !== undefined && !/^\d{1,15}$/.test(slotId)) throw new Error("its slot-id is not a number");
  const [object, id] = [word("object"), pathPart.get("id")];
  if (object === undefined && id === undefined)
    throw new Error("it must name the key: object=LABEL, or id=%01, or both");
  const modulePath = queryPart.get("module-path")?.toString("utf8");
  if (modulePath === undefined || !modulePath.startsWith("/")) {
    throw new Error("it must name the vendor's library: ?module-path=/absolute/path.so");
  }
  return {
    token: word("token"),
    serial: word("serial"),
    manufacturer: word("manufacturer"),
    model: word("model"),
    slotId: slotId === undefined ? undefined : Number(slotId),
    object,
    id,
    modulePath,
    pinFile: pinFileOf(queryPart.get("pin-source")?.toString("utf8")),
  };
}

const pathAttributes = new Set(["token", "serial", "manufacturer", "model", "slot-id", "object", "id", "type"]);
const queryAttributes = new Set(["module-path", "pin-source"]);

function pinFileOf(source: string | undefined): string | undefined {
  if (source === undefined) return undefined;
  const file = source.replace(/^file:(?:\/\/)?/, "");
  if (file.startsWith("/")) return file;
  throw new Error("its pin-source is not the absolute path of a file");
}

/** Parses `name=value` pairs. A name may occur once; values are percent-encoded octets. */
function attributes(text: string, separator: ";" | "&"): ReadonlyMap<string, Buffer> {
  const found = new Map<string, Buffer>();
  for (const pair of text.split(separator).filter((one) => one !== "")) {
    const at = pair.indexOf("=");
    const name = at < 0 ? pair : pair.slice(0, at);
    if (at < 0) throw new Error(`${JSON.stringify(name)} in it has no value`);
    if (found.has(name)) throw new Error(`it has ${JSON.stringify(name)} twice`);
    found.set(name, percentDecoded(pair.slice(at + 1)));
  }
  return found;
}

function percentDecoded(text: string): Buffer {
  if (/%(?![0-9a-f]{2})/i.test(text)) throw new Error("it has a % that is not followed by two hexadecimal digits");
  const parts = text.split(/%([0-9a-f]{2})/i);
  return Buffer.concat(parts.map((part, index) => Buffer.from(part, index % 2 === 0 ? "utf8" : "hex")));
}
