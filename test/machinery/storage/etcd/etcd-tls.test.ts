import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { EtcdStore } from "../../../../src/machinery/storage/backends/etcd.ts";
import type { TlsFiles } from "../../../../src/machinery/grpc/connect-socket.ts";
import { StoreUnavailable } from "../../../../src/machinery/storage/store.ts";
import { skipsEtcd, startEtcd } from "./etcd-process.ts";
import type { EtcdCluster } from "./etcd-process.ts";

const storeOn = (etcd: EtcdCluster, tls: TlsFiles, callMilliseconds: number): EtcdStore =>
  new EtcdStore({ servers: etcd.urls, tls: () => tls, prefix: "/signet", profile: "platform", callMilliseconds });

describe("etcd with TLS", { skip: skipsEtcd }, () => {
  it("is not used without a client certificate, nor when its own certificate cannot be verified, and the error names the setting", async () => {
    const etcd = await startEtcd({ isTls: true });
    const { ca = "", cert = "", key = "" } = etcd.tls;
    try {
      const good = storeOn(etcd, { ca, cert, key }, 60_000);
      assert.equal(await good.latestRevision(), 1);
      await good.close();
      const settings = { authorities: "the CAs", clientCertificate: "the pair" };
      for (const [tls, setting] of [
        [{ ca, settings }, /alert .*certificate.* \(check the pair\)$/],
        [{ cert, key, settings }, /certificate.* \(check the CAs\)$/],
      ] as const) {
        // It tries again until this time is over: a slow machine is refused as well.
        const store = storeOn(etcd, tls, 1000);
        await assert.rejects(
          store.latestRevision(),
          (error) => error instanceof StoreUnavailable && setting.test(error.message),
        );
        await store.close();
      }
    } finally {
      await etcd.stop();
    }
  });
});
