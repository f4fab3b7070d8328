import { readSettingsFile } from "../../machinery/command-line/settings/settings-files.ts";
import type { TlsFiles } from "../../machinery/grpc/connect-socket.ts";
import type { StorageSettings } from "../settings/storage-settings.ts";

export type EtcdSettings = Extract<StorageSettings, { readonly type: "etcd" }>;

/** Reads the files for connections to etcd, as they are now. Throws UsageError. */
export const etcdTlsFiles = ({ authorityFile, clientCertificate: pair }: EtcdSettings): TlsFiles => ({
  ...(authorityFile !== undefined && { ca: readSettingsFile("etcd-cafile", authorityFile) }),
  ...(pair !== undefined && {
    cert: readSettingsFile(pair.certificateFlag, pair.certificateFile),
    key: readSettingsFile(pair.keyFlag, pair.keyFile),
  }),
  settings: { authorities: "--etcd-cafile", clientCertificate: "--etcd-certfile and --etcd-keyfile" },
});
