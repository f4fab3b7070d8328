import { once } from "node:events";
import { readFileSync } from "node:fs";
import http from "node:http";
import http2 from "node:http2";
import https from "node:https";
import net from "node:net";
import { join } from "node:path";
import { issueOwnCertificate } from "../../src/features/certificates/authorities/issue-own-certificate.ts";
import { noSubjectAltNames } from "../../src/pki/names/subject-alt-names.ts";
import { encodePem } from "../../src/pki/pem.ts";
import { newAuthority } from "../features/certificates/certificate-loop-scene.ts";
import type { TestServer } from "../test-server.ts";

type Answer = (request: http.IncomingMessage, response: http.ServerResponse) => void;

const year = 365 * 24 * 3_600_000;

/** Servers that misbehave, each on a port of its own. Their CA is the test server's, unless a member says otherwise. */
export class UnhelpfulServers {
  readonly #servers: net.Server[] = [];
  readonly #sockets = new Set<net.Socket>();
  readonly #pem: string;

  constructor(server: TestServer) {
    this.#pem = readFileSync(join(server.dataDirectory, "serving.pem"), "utf8");
  }

  /** Accepts connections and says nothing, not even in TLS. */
  readonly silent = (): Promise<string> => this.#listen(net.createServer());

  /** Nothing listens at the port any more. */
  async gone(): Promise<string> {
    const server = net.createServer();
    const url = await this.#listen(server);
    server.close();
    await once(server, "close");
    return url;
  }

  /** Answers over TLS. */
  readonly answering = (answer: Answer): Promise<string> =>
    this.#listen(https.createServer({ key: this.#pem, cert: this.#pem }, answer));

  /** Speaks HTTP/2, and ends each request with an error code in place of an answer. */
  resetting(code: number): Promise<string> {
    const server = http2.createSecureServer({ key: this.#pem, cert: this.#pem });
    server.on("stream", (stream) => {
      stream.on("error", () => {});
      stream.close(code);
    });
    return this.#listen(server);
  }

  /** Speaks HTTP without TLS. */
  readonly plain = (): Promise<string> => this.#listen(http.createServer((_, response) => response.end("{}")));

  /** A server whose certificate was made at a given time, for a year; with the PEM of its CA. */
  async atTime(milliseconds: number): Promise<{ url: string; ca: string }> {
    const authority = newAuthority("past-or-future");
    const { certificate, key } = issueOwnCertificate(
      {
        subject: { commonName: "signet" },
        extendedKeyUsages: ["serverAuth"],
        subjectAltNames: { ...noSubjectAltNames, ipAddresses: ["127.0.0.1"] },
      },
      {
        authority: {
          ...authority,
          certificate: { ...authority.certificate, notAfter: milliseconds + 2 * year },
        },
        clock: { now: () => milliseconds },
        lifetimeMilliseconds: year,
        revocation: undefined,
      },
    );
    const url = await this.#listen(https.createServer({ key, cert: certificate }, (_, response) => response.end("{}")));
    return { url, ca: encodePem("CERTIFICATE", authority.certificate.der) };
  }

  close(): void {
    for (const server of this.#servers) server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  async #listen(server: net.Server): Promise<string> {
    server.on("connection", (socket: net.Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => {});
    });
    server.on("tlsClientError", () => {});
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    this.#servers.push(server);
    return `https://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
  }
}
