import { presentedCredential } from "../../machinery/authentication/presented-credential.ts";
import type { CertificateIdentity } from "../../machinery/authentication/presented-credential.ts";
import { serviceAccountUsername } from "../../machinery/api/user-info.ts";
import type { UserInfo } from "../../machinery/api/user-info.ts";
import type { Revocation } from "./revocations.ts";

type Spec = Revocation["spec"];

/** Joins issuer and serial number to one key. A serial number has no space. */
const serialKey = (serialNumber: string, issuer: string): string => `${serialNumber} ${issuer}`;
/** The key for all accounts, because no user name is empty. */
const everyAccount = "";

/**
 * The revoked credentials, in memory. A look-up takes the same time however many revocations there are, and none when there are none.
 * Several revocations may name the same credential: it stays revoked until the last of them is removed.
 */
export class RevokedCredentials {
  readonly #tokens = new LatestTimes();
  readonly #accounts = new LatestTimes();
  readonly #fingerprints = new LatestTimes();
  readonly #serials = new LatestTimes();
  readonly #subjects = new LatestTimes();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  clear(): void {
    for (const times of [this.#tokens, this.#accounts, this.#fingerprints, this.#serials, this.#subjects])
      times.clear();
    this.#size = 0;
  }

  add(spec: Spec): void {
    const { times, key, before } = this.#place(spec);
    times.add(key, before);
    this.#size += 1;
  }

  remove(spec: Spec): void {
    const { times, key, before } = this.#place(spec);
    times.remove(key, before);
    this.#size -= 1;
  }

  /** Why a user is refused. Undefined for users whose credential is not revoked. */
  refusalOf(user: UserInfo): string | undefined {
    if (this.#size === 0) return undefined;
    const credential = presentedCredential(user);
    if (credential === undefined) return undefined;
    if (credential.type === "certificate") {
      return this.revokesCertificate(credential) ? "the client certificate has been revoked" : undefined;
    }
    const issuedAt = credential.issuedAtSeconds === undefined ? -Infinity : credential.issuedAtSeconds * 1000;
    const isRevoked =
      (credential.id !== undefined && this.#tokens.isBeforeLatest(credential.id.toWellFormed(), issuedAt)) ||
      this.#accounts.isBeforeLatest(user.username, issuedAt) ||
      this.#accounts.isBeforeLatest(everyAccount, issuedAt);
    return isRevoked ? "the token has been revoked" : undefined;
  }

  revokesCertificate({ fingerprint, serialNumber, issuer, subject, notBefore }: CertificateIdentity): boolean {
    return (
      this.#fingerprints.isBeforeLatest(fingerprint, notBefore) ||
      this.#serials.isBeforeLatest(serialKey(serialNumber, issuer), notBefore) ||
      this.#subjects.isBeforeLatest(subject, notBefore)
    );
  }

  #place({ token, certificate }: Spec): { times: LatestTimes; key: string; before: number } {
    if (token !== undefined) {
      const { id, serviceAccount: account, issuedBefore } = token;
      if (id !== undefined) return { times: this.#tokens, key: id.toWellFormed(), before: Infinity };
      const key = account === undefined ? everyAccount : serviceAccountUsername(account.namespace, account.name);
      return { times: this.#accounts, key, before: timeOf(issuedBefore) };
    }
    const { fingerprint, serialNumber, issuer = "", subject = "", issuedBefore } = certificate ?? {};
    if (fingerprint !== undefined) return { times: this.#fingerprints, key: fingerprint, before: Infinity };
    if (serialNumber !== undefined) {
      return { times: this.#serials, key: serialKey(serialNumber, issuer), before: Infinity };
    }
    return { times: this.#subjects, key: subject, before: timeOf(issuedBefore) };
  }
}

const timeOf = (text: string | undefined): number => (text === undefined ? Infinity : Date.parse(text));

/** The latest time that was added for each key. Nearly all keys have one time. */
class LatestTimes {
  readonly #latest = new Map<string, number>();
  /** The other times of keys with several. */
  readonly #others = new Map<string, number[]>();

  clear(): void {
    this.#latest.clear();
    this.#others.clear();
  }

  /** Whether a time is before the latest time of a key. */
  isBeforeLatest(key: string, time: number): boolean {
    const latest = this.#latest.get(key);
    return latest !== undefined && time < latest;
  }

  add(key: string, time: number): void {
    const latest = this.#latest.get(key);
    if (latest === undefined) {
      this.#latest.set(key, time);
      return;
    }
    this.#latest.set(key, Math.max(latest, time));
    const others = this.#others.get(key);
    if (others === undefined) this.#others.set(key, [Math.min(latest, time)]);
    else others.push(Math.min(latest, time));
  }

  remove(key: string, time: number): void {
    const others = this.#others.get(key);
    if (others === undefined) {
      this.#latest.delete(key);
      return;
    }
    let at = others.indexOf(time);
    if (at === -1) {
      // The removed time is the latest: the next latest takes its place.
      const next = others.reduce((one, other) => Math.max(one, other), -Infinity);
      this.#latest.set(key, next);
      at = others.indexOf(next);
    }
    others.splice(at, 1);
    if (others.length === 0) this.#others.delete(key);
  }
}
