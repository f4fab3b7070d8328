import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:https";
import { join } from "node:path";
import { connect } from "node:tls";
import { freePort } from "../../bench/processes/free-ports.ts";
import { parseKeyPair } from "../../src/agent/certificates/key-pair.ts";
import type { KeyPair } from "../../src/agent/certificates/key-pair.ts";
import { ApiClient } from "../../src/machinery/client/api-client.ts";
import { httpsTransport } from "../../src/machinery/client/https/https-transport.ts";
import { serialNumberHex } from "../../src/pki/certificates/certificate.ts";
import { shellWord } from "../../src/machinery/command-line/output/shell-word.ts";
import { SignetProcess } from "./signet-process.ts";

export interface AgentPlace {
  readonly folder: string;
  readonly nodeName: string;
  readonly server: string;
  readonly caFile: string;
  readonly tokenFile: string;
}

/** An agent in a separate process, and everything that other programs can see of it. */
export class AgentUnderTest {
  readonly nodeName: string;
  readonly bundleFile: string;
  readonly signerFile: string;
  readonly changesFile: string;
  readonly #place: AgentPlace;
  #process: SignetProcess | undefined;
  #port = 0;

  constructor(place: AgentPlace) {
    this.#place = place;
    this.nodeName = place.nodeName;
    this.bundleFile = join(place.folder, "bundle.pem");
    this.signerFile = join(place.folder, "signer.pem");
    this.changesFile = join(place.folder, "changes");
  }

  /** Starts the process. A restart uses the same port. */
  async start(): Promise<void> {
    const { server, caFile, tokenFile, folder, nodeName } = this.#place;
    this.#port ||= await freePort();
    this.#process = new SignetProcess(
      ...["agent", "--server", server, "--ca-file", caFile, "--bootstrap-token-file", tokenFile],
      ...["--node-name", nodeName, "--data-dir", folder, "--listen-address", "127.0.0.1", "--port", String(this.#port)],
      ...["--certificate-lifetime", "10m", "--node-ip", "10.0.0.7"],
      ...["--trust-bundle", `platform.io:nodeagent-serving:ca:${this.bundleFile}`],
      ...["--trust-bundle", `signer=platform.io/apiserver-client-nodeagent:${this.signerFile}`],
      ...["--on-change", `echo "$SIGNET_CHANGE" >> ${shellWord(this.changesFile)}`],
    );
    await this.#process.find(/serves on port (\d+)/);
  }

  get log(): string {
    return this.#process?.output ?? "";
  }

  /** Renews both certificates now. */
  rotate(): void {
    this.#process?.signal("SIGUSR2");
  }

  async end(signal?: NodeJS.Signals): Promise<void> {
    await this.#process?.end(signal);
  }

  /** Read like any program on the machine would. */
  pair(name: "client" | "serving"): KeyPair {
    return parseKeyPair(readFileSync(join(this.#place.folder, "pki", `${name}-current.pem`), "utf8"));
  }

  serials(): string[] {
    return (["client", "serving"] as const).map((name) => serialNumberHex(this.pair(name).certificate));
  }

  /** A client with the node's current certificate. */
  apiClient(): ApiClient {
    const { certificatePem, keyPem } = this.pair("client");
    const { server, caFile } = this.#place;
    return new ApiClient(
      httpsTransport({
        server,
        caCertificates: readFileSync(caFile, "utf8"),
        clientCertificate: { certificate: certificatePem, key: keyPem },
      }),
    );
  }

  /** The serial number of the certificate that a new connection gets. The connection trusts only `anchors`. */
  async servedSerial(anchors: string): Promise<string> {
    const socket = connect({ host: "127.0.0.1", port: this.#port, ca: anchors, servername: this.nodeName });
    try {
      await once(socket, "secureConnect");
      return socket.getPeerCertificate().serialNumber.toLowerCase().replace(/^0+/, "");
    } finally {
      socket.destroy();
    }
  }

  /** Reads a path of the agent on a new connection that trusts only `anchors`, by the node's name. */
  read(path: string, anchors: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const sent = request(
        { host: "127.0.0.1", port: this.#port, path, ca: anchors, servername: this.nodeName, agent: false },
        (response) => {
          let text = "";
          response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
          response.on("error", reject);
          response.on("end", () =>
            response.statusCode === 200 ? resolve(text) : reject(new Error(`${response.statusCode}: ${text}`)),
          );
        },
      );
      sent.on("error", reject);
      sent.end();
    });
  }
}
