import { stringify } from "yaml";

/** The content of a kubeconfig with one cluster, one user and one context. PEM texts are embedded. */
export interface KubeconfigContents {
  readonly server: string;
  readonly caCertificates: string;
  readonly user: string;
  readonly namespace?: string;
  readonly credentials:
    | { readonly type: "certificate"; readonly certificate: string; readonly key: string }
    | { readonly type: "token"; readonly token: string };
}

export const newClusterName = "signet";

/** Formats a kubeconfig that kubectl and every client library can read. */
export const formatKubeconfig = (contents: KubeconfigContents): string => stringify(kubeconfigFields(contents));

/** The fields of a new kubeconfig. */
export function kubeconfigFields({ server, caCertificates, user, namespace, credentials }: KubeconfigContents) {
  const base64 = (pem: string): string => Buffer.from(pem, "utf8").toString("base64");
  return {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: newClusterName, cluster: { server, "certificate-authority-data": base64(caCertificates) } }],
    users: [
      {
        name: user,
        user:
          credentials.type === "token"
            ? { token: credentials.token }
            : {
                "client-certificate-data": base64(credentials.certificate),
                "client-key-data": base64(credentials.key),
              },
      },
    ],
    contexts: [
      { name: "signet", context: { cluster: newClusterName, user, ...(namespace !== undefined && { namespace }) } },
    ],
    "current-context": "signet",
  };
}
