import { CertificateStore } from "../../../src/agent/certificates/certificate-store.ts";
import { newPair } from "../new-pair.ts";

// Installs one pair after the other, until it is killed.
const store = new CertificateStore(process.argv[2] ?? "", "client");
const pairs = Array.from({ length: 8 }, () => newPair());
console.log("writes");
for (let second = 1; ; second++) {
  const pair = pairs[second % pairs.length] ?? newPair();
  store.keepPendingKey(pair.keyPem);
  store.install(pair, { now: second * 1000, wantedDigest: "a digest" });
}
