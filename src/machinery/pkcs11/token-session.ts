import { noBytes } from "../api/bytes/no-bytes.ts";
import { DerReader, tags } from "../../pki/der/der.ts";
import {
  encodeBitString,
  encodeObjectIdentifier,
  encodeSequence,
  encodeUnsignedInteger,
  encodedNull,
} from "../../pki/der/der-writer.ts";
import { oids } from "../../pki/der/object-identifiers.ts";
import { parsePublicKeyInfo } from "../../pki/keys/public-key.ts";
import type { PublicKeyInfo } from "../../pki/keys/public-key.ts";
import { readPrivateFile } from "../files/private-file.ts";
import { fileFailureReason, UnusableFile } from "../files/unusable-file.ts";
import { codes, functions, ModuleError, RequestWriter } from "./module-messages.ts";
import type { AnswerReader, Attribute, MechanismForm, ModuleFunction } from "./module-messages.ts";
import { ModuleProcess } from "./module-process.ts";
import type { ModuleProcessOptions } from "./module-process.ts";
import type { Pkcs11Uri } from "./pkcs11-uri.ts";

const handshake = Buffer.from("PRIVATE-GNOME-KEYRING-PKCS11-PROTOCOL-V-1");
/** PKCS #11's numbers. */
const serialSession = 4;
const normalUser = 1;
const classAttribute = 0x0;
const labelAttribute = 0x3;
const idAttribute = 0x102;
const keyTypeAttribute = 0x100;
const modulusAttribute = 0x120;
const publicExponentAttribute = 0x122;
const curveAttribute = 0x180;
const pointAttribute = 0x181;
const publicKeyClass = 2;
const privateKeyClass = 3;
const rsaType = 0;
const curveType = 3;
const mechanisms = { rsa: 0x1, ecdsa: 0x1041 } as const;

/** A flag of a token: another wrong PIN locks it (CKF_USER_PIN_FINAL_TRY). */
const finalTry = 0x20000;

const maximumSlots = 256;
const maximumAttributeBytes = 4096;
const maximumSignatureBytes = 2048;

/** The token refused the PIN. Another try may lock it. */
export class WrongPin extends Error {}

/** The token has one try left, so a login with a wrong PIN would lock it. Only a person may risk that. */
class LastTry extends Error {
  constructor() {
    super(
      "wrong PINs have left the token one try, which is not used up here: log in once yourself with the right PIN " +
        "(pkcs11-tool --login), so that the token allows all tries again",
    );
  }
}

export type SessionOptions = Omit<ModuleProcessOptions, "modulePath">;

/** A session with a token, and the private key that a URI names. The user is logged in if there is a PIN. Calls run one after the other. */
export class TokenSession {
  readonly #module: ModuleProcess;
  readonly #session: number;
  readonly #key: number;
  readonly #isRsa: boolean;
  #form: MechanismForm = "with array";
  #isFormKnown = false;

  private constructor(module: ModuleProcess, found: { session: number; key: number; isRsa: boolean }) {
    this.#module = module;
    this.#session = found.session;
    this.#key = found.key;
    this.#isRsa = found.isRsa;
  }

  /** Opens a session, and finds the key. Rejects with WrongPin, or with an Error with the reason, for instance that the key is missing. */
  static async open(
    uri: Pkcs11Uri,
    { pin, ...options }: SessionOptions & { readonly pin: string | undefined },
  ): Promise<TokenSession> {
    const module = new ModuleProcess({ ...options, modulePath: uri.modulePath });
    try {
      await initialize(module, uri);
      const { slot, flags } = await findSlot(module, uri);
      if (pin !== undefined && Math.floor(flags / finalTry) % 2 === 1) throw new LastTry();
      const opened = await module.call(requestOf(functions.openSession).number(slot).number(serialSession));
      const session = opened.number();
      if (pin !== undefined) await logIn(module, { session, pin });
      const key = await findKey(module, { session, uri });
      const found = await attributesOf(module, { session, object: key, types: [keyTypeAttribute] });
      const type = found.get(keyTypeAttribute);
      if (type !== rsaType && type !== curveType) throw new Error("the key is neither an RSA nor an EC key");
      return new TokenSession(module, { session, key, isRsa: type === rsaType });
    } catch (error) {
      module.close();
      throw error;
    }
  }

  get isOpen(): boolean {
    return this.#module.isOpen;
  }

  close(): void {
    this.#module.close();
  }

  /** Signs octets without hashing them. RSA: with PKCS #1 v1.5 padding. EC: the signature is r and s, with the same length. */
  async sign(octets: Uint8Array): Promise<Buffer> {
    await this.#begin();
    const signed = await this.#module.call(
      requestOf(functions.sign).number(this.#session).bytes(octets).room(maximumSignatureBytes),
    );
    return signed.byteArray();
  }

  /** The public key, from the attributes of the private key (RSA) or of the public key with the same name. */
  async publicKey(uri: Pkcs11Uri): Promise<PublicKeyInfo> {
    const module = this.#module;
    const session = this.#session;
    if (this.#isRsa) {
      const types = [modulusAttribute, publicExponentAttribute];
      return rsaPublicKey(await attributesOf(module, { session, object: this.#key, types }));
    }
    const [object, ...others] = await findObjects(module, { session, uri, wanted: publicKeyClass });
    if (object === undefined || others.length > 0) {
      throw new Error("the token must hold the public key too, once, with the same label and id as the private key");
    }
    const types = [curveAttribute, pointAttribute];
    return curvePublicKey(await attributesOf(module, { session, object, types }));
  }

  async #begin(): Promise<void> {
    const mechanism = this.#isRsa ? mechanisms.rsa : mechanisms.ecdsa;
    const begin = (): Promise<AnswerReader> =>
      this.#module.call(
        requestOf(functions.signInit).number(this.#session).mechanism(mechanism, this.#form).number(this.#key),
      );
    try {
      await begin();
    } catch (error) {
      // Since 0.25.6, p11-kit reads the array as the number of a key, which does not exist. Older versions end when they get the bare form.
      if (!(error instanceof ModuleError) || this.#isFormKnown) throw error;
      this.#form = "bare";
      await begin();
    }
    this.#isFormKnown = true;
  }
}

/** Reads the PIN from a file that no other user may read. Throws an Error with the reason, which never quotes the file's content. */
export function readPin(file: string): string {
  let text: string | undefined;
  try {
    text = readPrivateFile(file);
  } catch (cause) {
    const reason = cause instanceof UnusableFile ? cause.message : `${file}: ${fileFailureReason(cause)}`;
    throw new Error(`the PIN can't be read: ${reason}`, { cause });
  }
  if (text === undefined) throw new Error(`the PIN can't be read: ${file}: there is no such file; name another`);
  const pin = text.replace(/\r?\n$/, "");
  if (pin === "" || pin.length > 256) throw new Error(`${file} is not a file with only a PIN`);
  return pin;
}

const requestOf = (called: ModuleFunction): RequestWriter => new RequestWriter(called);

async function initialize(module: ModuleProcess, { modulePath }: Pkcs11Uri): Promise<void> {
  try {
    await module.call(requestOf(functions.initialize).bytes(handshake).byte(0).bytes(noBytes));
  } catch (error) {
    if (!(error instanceof ModuleError)) throw error;
    const next = "check its configuration, and that this user may read that and the token";
    throw new Error(`${modulePath} does not start (${error.message}); ${next}`, { cause: error });
  }
}

interface Slot {
  readonly slot: number;
  readonly flags: number;
}

async function findSlot(module: ModuleProcess, uri: Pkcs11Uri): Promise<Slot> {
  const slots = (await module.call(requestOf(functions.slotList).byte(1).room(maximumSlots))).numbers();
  const matching: Slot[] = [];
  const labels: string[] = [];
  for (const slot of slots) {
    const answer = await module.call(requestOf(functions.tokenInfo).number(slot));
    const [label, manufacturer, model, serial] = [
      answer.paddedText(),
      answer.paddedText(),
      answer.paddedText(),
      answer.paddedText(),
    ] as const;
    labels.push(JSON.stringify(label));
    const pairs = [
      [uri.token, label],
      [uri.manufacturer, manufacturer],
      [uri.model, model],
      [uri.serial, serial],
      [uri.slotId, slot],
    ];
    if (pairs.every(([wanted, is]) => wanted === undefined || wanted === is)) {
      matching.push({ slot, flags: answer.number() });
    }
  }
  const [found] = matching;
  if (found !== undefined && matching.length === 1) return found;
  const there = labels.length === 0 ? "it has no token" : `its tokens are ${labels.slice(0, 20).join(", ")}`;
  throw new Error(`${matching.length} tokens of ${uri.modulePath} are the one that the URI names; ${there}`);
}

async function logIn(
  module: ModuleProcess,
  { session, pin }: { readonly session: number; readonly pin: string },
): Promise<void> {
  try {
    await module.call(requestOf(functions.login).number(session).number(normalUser).bytes(Buffer.from(pin)));
  } catch (error) {
    if (!(error instanceof ModuleError)) throw error;
    if (error.code === codes.alreadyLoggedIn) return;
    if (error.code !== codes.pinIncorrect && error.code !== codes.pinLocked) throw error;
    const text =
      error.code === codes.pinLocked
        ? `the token is locked (${error.message}): set a new PIN with the PIN of its security officer`
        : `the token refuses the PIN (${error.message})`;
    throw new WrongPin(text, { cause: error });
  }
}

async function findKey(
  module: ModuleProcess,
  { session, uri }: { readonly session: number; readonly uri: Pkcs11Uri },
): Promise<number> {
  const [key, ...others] = await findObjects(module, { session, uri, wanted: privateKeyClass });
  if (key === undefined) {
    const hint = uri.pinFile === undefined ? ": private keys are seen only with the PIN (pin-source)" : "";
    throw new Error(`the token has no private key with the label or id of the URI${hint}`);
  }
  if (others.length > 0) throw new Error("the token has several private keys with this label: name the id of one too");
  return key;
}

/** Finds at most two objects of a class: a second one shows that the URI is ambiguous. */
async function findObjects(
  module: ModuleProcess,
  { session, uri, wanted }: { readonly session: number; readonly uri: Pkcs11Uri; readonly wanted: number },
): Promise<readonly number[]> {
  const template: Attribute[] = [
    { type: classAttribute, value: wanted },
    ...(uri.object === undefined ? [] : [{ type: labelAttribute, value: Buffer.from(uri.object) }]),
    ...(uri.id === undefined ? [] : [{ type: idAttribute, value: uri.id }]),
  ];
  await module.call(requestOf(functions.findInit).number(session).attributes(template));
  const found = (await module.call(requestOf(functions.find).number(session).room(2))).numbers();
  await module.call(requestOf(functions.findFinal).number(session));
  return found;
}

async function attributesOf(
  module: ModuleProcess,
  { session, object, types }: { readonly session: number; readonly object: number; readonly types: readonly number[] },
): Promise<ReadonlyMap<number, Buffer | number>> {
  const answer = await module.call(
    requestOf(functions.attributes).number(session).number(object).attributeRoom(types, maximumAttributeBytes),
  );
  return answer.attributes(new Set([keyTypeAttribute]));
}

const octets = (found: ReadonlyMap<number, Buffer | number>, type: number): Buffer => {
  const value = found.get(type);
  if (Buffer.isBuffer(value)) return value;
  throw new Error("the token does not tell the public key");
};

const rsaPublicKey = (found: ReadonlyMap<number, Buffer | number>): PublicKeyInfo =>
  parsePublicKeyInfo(
    encodeSequence(
      encodeSequence(encodeObjectIdentifier(oids.rsaEncryption), encodedNull),
      encodeBitString(
        encodeSequence(
          encodeUnsignedInteger(octets(found, modulusAttribute)),
          encodeUnsignedInteger(octets(found, publicExponentAttribute)),
        ),
      ),
    ),
  );

const curvePublicKey = (found: ReadonlyMap<number, Buffer | number>): PublicKeyInfo =>
  parsePublicKeyInfo(
    encodeSequence(
      encodeSequence(encodeObjectIdentifier(oids.ecPublicKey), octets(found, curveAttribute)),
      encodeBitString(new DerReader(octets(found, pointAttribute)).read(tags.octetString, "the point")),
    ),
  );
